"""Turns that a person made in a session's conversation with the agent's own program, outside betcode."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from betcode.domain.store.rows import NewSession
from betcode.v1.agent_pb2 import AgentEvent

OUTSIDE = "outside"  # the client of such a message, and the origin of such a turn


@dataclass(frozen=True, slots=True)
class LastRun:
    """The newest agent process of a session, which has ended, and the state of its dialogue."""

    started_ns: int
    ended_ns: int
    state: bytes
    version: int


@dataclass(frozen=True, slots=True)
class OutsideTurn:
    message_id: str  # of the message that began it
    events: tuple[AgentEvent, ...]


@dataclass(frozen=True, slots=True)
class OutsideTurns:
    """The turns of a transcript that are not in the session's history."""

    turns: tuple[OutsideTurn, ...]  # oldest first
    omitted: int  # turns before them that were too many to import
    program: str  # with which they were made, for a notice
    state: bytes  # of the last run's dialogue, in the current version: the same turns are not found with it again


@runtime_checkable
class FindsOutsideTurns(Protocol):
    """The optional interface of a provider that reads transcripts."""

    def outside_turns(
        self, session: NewSession, conversation_id: str, environment: Mapping[str, str], last: LastRun
    ) -> OutsideTurns | None:
        """Read the agent's transcript; None if it holds nothing new. Blocks on files.

        Raises:
            OSError: the transcript could not be read.
        """
        ...
