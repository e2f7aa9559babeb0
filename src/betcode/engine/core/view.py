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
