"""The result of a decision: what to append, what to store, which fields of the session's state change, and the effects.

An effect is what the shell does once the decision is committed. It never waits, and cannot be refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias, TypedDict

from betcode.domain.permissions.notification import NotificationReason
from betcode.domain.runs.crash_policy import CrashHistory
from betcode.domain.sessions.budget import Budget
from betcode.domain.sessions.status import SessionStatus
from betcode.domain.sessions.transcript import TranscriptEnd
from betcode.domain.store.changes import Change
from betcode.domain.store.rows import PromptRow, RunRow
from betcode.v1 import agent_pb2 as v1


class StateFields(TypedDict, total=False):
    """The fields of `SessionState` that a decision sets. The others are counted from the events."""

    status: SessionStatus
    name: str
    conversation_id: str
    conversation_began: bool
    transcript: TranscriptEnd
    crashes: CrashHistory
    api_pause: str
    api_pause_until_ns: int
    budget: Budget


@dataclass(frozen=True, slots=True)
class Advance:
    """Do what is possible now: ask for a slot, start an agent, deliver inputs."""


@dataclass(frozen=True, slots=True)
class Settle:
    """Take, keep or release the slot as the agent works, waits or rests; then advance."""


@dataclass(frozen=True, slots=True)
class ReleaseSlot:
    """Release the session's slot, or leave the queue for one."""


@dataclass(frozen=True, slots=True)
class AllowStart:
    """Agents may be started again: a person wants something done."""


@dataclass(frozen=True, slots=True)
class ForbidStart:
    """Start no agent until a person sends something."""


@dataclass(frozen=True, slots=True)
class RefuseInputs:
    """Deliver nothing more to the agent. Its end is no crash."""


@dataclass(frozen=True, slots=True)
class EscalateCancel:
    """Take the steps of the cancel that the run's row names. `insists`: take the next step now."""

    insists: bool = False


@dataclass(frozen=True, slots=True)
class DetachRun:
    """The session has no agent any more."""


@dataclass(frozen=True, slots=True)
class RetryAfter:
    """Start another agent after this time, to continue the turn of the run that crashed."""

    crashed: RunRow
    wait_s: float


@dataclass(frozen=True, slots=True)
class RetryNow:
    """Do not wait any longer before the next agent is started."""


@dataclass(frozen=True, slots=True)
class StopRetry:
    """Another agent has the turn of the crashed run, or nobody wants it continued."""


@dataclass(frozen=True, slots=True)
class BeginCompaction:
    """Callers may wait from now on for the compaction that this input requests."""

    input_id: str


@dataclass(frozen=True, slots=True)
class FinishCompaction:
    """Tell those who wait for a compaction that its input is no longer open, and why."""

    reason: str


@dataclass(frozen=True, slots=True)
class CloseInputLock:
    """Nobody types into this session any more."""


@dataclass(frozen=True, slots=True)
class Notify:
    """Notify people outside the clients of a prompt."""

    prompt: PromptRow
    reason: NotificationReason
    notification_id: str


@dataclass(frozen=True, slots=True)
class UseMetadata:
    """Start the next agent with this metadata of the session."""

    metadata: Mapping[str, str]


Effect: TypeAlias = (
    Advance
    | Settle
    | ReleaseSlot
    | AllowStart
    | ForbidStart
    | RefuseInputs
    | EscalateCancel
    | DetachRun
    | RetryAfter
    | RetryNow
    | StopRetry
    | BeginCompaction
    | FinishCompaction
    | CloseInputLock
    | Notify
    | UseMetadata
)


@dataclass(frozen=True, slots=True)
class Decision:
    """One commit. The shell writes it, applies it to memory, and then performs its effects in order."""

    events: tuple[v1.AgentEvent, ...] = ()
    changes: tuple[Change, ...] = ()
    fields: StateFields = field(default_factory=StateFields)
    effects: tuple[Effect, ...] = ()
