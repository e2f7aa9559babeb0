"""The result of a decision: what to append, what to store, and which fields of the session's state change."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypedDict

from betcode.domain.runs.crash_policy import CrashHistory
from betcode.domain.sessions.budget import Budget
from betcode.domain.sessions.status import SessionStatus
from betcode.domain.sessions.transcript import TranscriptEnd
from betcode.domain.store.changes import Change
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
class Decision:
    """One commit. The shell writes it, applies it to memory, and then acts."""

    events: tuple[v1.AgentEvent, ...] = ()
    changes: tuple[Change, ...] = ()
    fields: StateFields = field(default_factory=StateFields)
