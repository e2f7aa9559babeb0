"""The report about a run that cannot be used."""

from dataclasses import dataclass

from betcode.domain.values.identifiers import SessionId


@dataclass(frozen=True, slots=True)
class UnusableRun:
    name: str  # of its entry in the directory of runs, or of that directory itself, printable
    session_id: str  # empty: it belongs to no session
    problem: str  # a clause: "`lock` is a FIFO, not a regular file"
    can_be_set_aside: bool = True  # `betcode doctor --repair` moves it away

    @property
    def remedy(self) -> str:
        if self.can_be_set_aside:
            return "betcode doctor --repair moves it to the set-aside folder of the state directory"
        if not self.session_id:
            return f"allow the daemon's user to list it: chmod 700 {self.name} in the state directory"
        return f"use a betcode that knows it, or: betcode session delete {self.session_id}"


@dataclass(frozen=True, slots=True)
class NotedProblem:
    """Found while a run was used; the files do not show it."""

    session_id: SessionId
    problem: str
    can_be_set_aside: bool
