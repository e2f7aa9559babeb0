"""Runs that cannot be used, and the reason: from their files, or from a failed attempt to use them."""

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path

import anyio.to_thread

from betcode.domain.runs.unusable import NotedProblem, UnusableRun
from betcode.domain.store.startup import StartupStore
from betcode.domain.values.identifiers import SessionId, is_uuid
from betcode.engine.shell.holder_client import HolderProtocolError
from betcode.holder.run_check import RunFault, run_faults
from betcode.util.state_files import UnusableEntry, mode_of, shown

_MOST = 100  # that are reported or remembered


class RunProblems:
    """Remembers what was found since the daemon started, for as long as the run's entry is there."""

    def __init__(self) -> None:
        self._noted: dict[str, NotedProblem] = {}

    def note(self, run_id: str, session_id: SessionId, problem: str, *, can_be_set_aside: bool = True) -> None:
        if len(self._noted) < _MOST or run_id in self._noted:
            self._noted[run_id] = NotedProblem(session_id, problem, can_be_set_aside)

    def explain(self, run_id: str, session_id: SessionId, error: Exception) -> str:
        """Why a run cannot go on, in words for people. One that cannot be used is noted."""
        while isinstance(error, ExceptionGroup):
            error = error.exceptions[0]
        if isinstance(error, UnusableEntry):
            words = f"the directory of its run cannot be used: {error}"
        elif isinstance(error, HolderProtocolError):
            words = f"the socket of its run does not belong to a holder: {error}"
        else:
            return f"{type(error).__name__}: {error}"
        self.note(run_id, session_id, str(error))
        return words

    async def all(self, runs_dir: Path, store: StartupStore) -> list[UnusableRun]:
        """Every run that cannot be used now.

        Raises:
            StorageDegraded, StorageFailed: it cannot be read which sessions they belong to.
        """
        examine = partial(_examined, runs_dir, [name for name, each in self._noted.items() if each.can_be_set_aside])
        faults, gone = await anyio.to_thread.run_sync(examine, abandon_on_cancel=True)
        for name in gone:
            self._noted.pop(name, None)
        sessions = await store.sessions_of_runs([fault.name for fault in faults if is_uuid(fault.name)])
        return merged(faults, self._noted, sessions)


def merged(
    faults: Sequence[RunFault], noted: Mapping[str, NotedProblem], sessions: Mapping[str, SessionId]
) -> list[UnusableRun]:
    """One entry for each run; what its files show comes first."""
    seen = {
        fault.name: UnusableRun(fault.shown, sessions.get(fault.name, ""), fault.problem, fault.can_be_set_aside)
        for fault in faults
    }
    found = {
        name: UnusableRun(shown(name), each.session_id, each.problem, each.can_be_set_aside)
        for name, each in noted.items()
    }
    return [each for _, each in sorted((found | seen).items())]


def _examined(runs_dir: Path, noted: Sequence[str]) -> tuple[list[RunFault], list[str]]:
    """The faults that are there to be seen, and the entries that are gone of those that were noted."""
    return list(islice(run_faults(runs_dir), _MOST)), [name for name in noted if not _is_there(runs_dir / name)]


def _is_there(path: Path) -> bool:
    try:
        return mode_of(path) != 0
    except OSError:
        return True
