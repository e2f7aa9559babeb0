"""Result types of the engine: an accepted message, a session summary, facts about the engine."""

from dataclasses import dataclass

from betcode.domain.store.rows import SessionRow
from betcode.domain.values.identifiers import MessageId, Seq
from betcode.engine.client_name import NOBODY, ClientName, Present
from betcode.engine.core.status import NOTHING, WaitReason
from betcode.engine.maintenance.adoption import AdoptionReport


@dataclass(frozen=True, slots=True)
class AcceptedMessage:
    message_id: MessageId
    seq: Seq  # of the user_input event that acknowledges it


@dataclass(frozen=True, slots=True)
class Summary:
    row: SessionRow
    holds: tuple[str, ...] = ()
    waiting: WaitReason = NOTHING
    lock_holder: ClientName = NOBODY
    clients: tuple[Present, ...] = ()


@dataclass(frozen=True, slots=True)
class EngineFacts:
    turns_at_work: int
    turn_limit: int
    queue_limit: int
    waiting_in_line: int
    live_agents: int
    agent_memory_bytes: int
    degraded_reason: str
    found_at_start: AdoptionReport
    database_warning: str = ""  # it nears its limit, or is past it
    memory_limit_bytes: int = 0  # limit of the daemon's own memory
