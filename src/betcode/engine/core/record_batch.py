"""A batch of an agent's records as the core reads it: translated, and with everything that had to be looked up."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from betcode.domain.agents.commands import AnswerPermission
from betcode.domain.permissions.audit import AuditEntry
from betcode.domain.runs.journal_record import Record
from betcode.v1 import agent_pb2 as v1


@dataclass(frozen=True, slots=True)
class ScreeningResult:
    """What rules and grants say about one request of an agent."""

    entry: AuditEntry
    answer: AnswerPermission | None = None  # None: a person is asked
    why: str = ""  # why a person is
    segments: tuple[str, ...] = ()
    asks_each_time: bool = False  # a rule does, whatever is granted


@dataclass(frozen=True, slots=True)
class PromptReview:
    """What was looked up about a new prompt. Orphaned prompts are named by their request ids."""

    screened: ScreeningResult | None = None  # None: no rule applies to it
    refused_edits: Mapping[str, str] = field(default_factory=dict)  # why an edit is not reused: a rule denies it
    peers: Mapping[str, str] = field(default_factory=dict)  # the processes that answers came from


NO_REVIEW = PromptReview()


@dataclass(frozen=True, slots=True)
class TranslatedRecord:
    record: Record
    events: Sequence[v1.AgentEvent] = ()
    refusal: AuditEntry | None = None  # of a process that the holder refused


@dataclass(frozen=True, slots=True)
class RecordBatch:
    """The records, and the dialogue after them."""

    records: Sequence[TranslatedRecord]
    reviews: Mapping[str, PromptReview]  # of the prompts that they open, by request id
    turn_was_open: bool
    turn_open: bool
    dialogue_state: bytes
    now: int  # on the clock of process start times, for a turn that begins
