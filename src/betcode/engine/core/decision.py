"""The result of a decision: what to append, what to store, and which fields of the session's state change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from betcode.domain.store.changes import Change
from betcode.v1 import agent_pb2 as v1


@dataclass(frozen=True, slots=True)
class Decision:
    """One commit. The shell writes it, applies it to memory, and then acts."""

    events: tuple[v1.AgentEvent, ...] = ()
    changes: tuple[Change, ...] = ()
    fields: Mapping[str, object] = field(default_factory=dict)  # of SessionState
