"""The values of a session and of its run that decisions read. They are valid while the session's lock is held."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from betcode.domain.agents.capabilities import Capabilities
from betcode.domain.runs.state import CancelStep
from betcode.domain.sessions.status import SessionStatus
from betcode.domain.store.rows import OPENS_TURN, InputKind, InputRow, NewSession, PromptRow, RunRow, SessionState
from betcode.domain.values.identifiers import SessionId


@dataclass(frozen=True, slots=True)
class StopRequest:
    """Who stopped the session or its turn last, and the reason given for everything that a close ends."""

    client: str = ""  # empty: not known, or nobody
    closed_reason: str = "the session was closed"


NO_STOP_REQUEST = StopRequest()
DELETED = "the session was deleted"


@dataclass(frozen=True, slots=True)
class RunFlags:
    """What was decided about a run, and what its agent has shown so far. A flag that is set stays set."""

    asked_to_end: bool = False  # nothing is delivered any more, and its end is no crash
    stopped: bool = False  # together with its daemon
    is_outdated: bool = False  # the trust in its project has changed
    was_begun: bool = True  # not so where a daemon died before the run had a holder
    has_spoken: bool = False  # by itself, and not only in answer to a command
    has_said_anything: bool = False  # on its stdout, an answer to our greeting included
    has_served: bool = False  # it finished a turn: what it is not given by its end goes to the next, but not for ever

    def with_records(self, *, has_output: bool, has_spoken: bool, turn_completed: bool) -> RunFlags:
        """Return the flags after a batch of records; usually none changes."""
        after = (
            True,
            self.has_spoken or has_spoken,
            self.has_said_anything or has_output,
            self.has_served or turn_completed,
        )
        if after == (self.was_begun, self.has_spoken, self.has_said_anything, self.has_served):
            return self
        return RunFlags(self.asked_to_end, self.stopped, self.is_outdated, *after)


@dataclass(frozen=True, slots=True)
class RunView:
    """The agent of a session: its row, what its dialogue reports, and what was decided about it."""

    row: RunRow
    turn_open: bool = False
    answering: tuple[str, ...] = ()  # the messages that the open turn has begun to answer
    asked_to_end: bool = False
    stopped: bool = False  # together with its daemon

    @property
    def is_leaving(self) -> bool:
        return self.row.cancel_step is CancelStep.LEAVING


@dataclass(frozen=True, slots=True)
class SessionView:
    info: NewSession
    state: SessionState
    capabilities: Capabilities
    inputs: Mapping[str, InputRow] = field(default_factory=dict)  # open ones, oldest first
    prompts: Mapping[str, PromptRow] = field(default_factory=dict)  # open ones that the agent waits for
    orphaned: Mapping[str, PromptRow] = field(default_factory=dict)  # those of agents that are gone
    budget_prompt: PromptRow | None = None  # the open question about the budget
    closed_reason: str = "the session was closed"
    stopped_by: str = ""  # the client that closed it or cancelled its turn last
    backing_off: RunRow | None = None  # the run that crashed, and whose turn another agent is to continue
    is_compacting: bool = False

    @property
    def session_id(self) -> SessionId:
        return self.info.session_id

    @property
    def is_closed(self) -> bool:
        return self.state.status is SessionStatus.CLOSED

    @property
    def at_rest(self) -> bool:
        """No turn is open, and none will begin by itself."""
        return self.state.status is not SessionStatus.ACTIVE

    @property
    def messages(self) -> list[InputRow]:
        return [row for row in self.inputs.values() if row.kind is InputKind.MESSAGE]

    @property
    def has_work(self) -> bool:
        """Whether a message or a compaction is open."""
        return any(row.kind in OPENS_TURN for row in self.inputs.values())

    def unconsumed(self, run: RunView) -> bool:
        """Whether the run was given a message or a compaction that is still open."""
        return any(row.kind in OPENS_TURN and row.run == run.row.key for row in self.inputs.values())
