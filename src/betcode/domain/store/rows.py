"""The rows of sessions, runs, inputs, prompts, events and blobs, as plain values."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import NamedTuple

from betcode.domain.runs.crash_policy import CrashHistory
from betcode.domain.runs.state import CancelStep, RunState
from betcode.domain.sessions.budget import NO_BUDGET, Amounts, Budget
from betcode.domain.sessions.status import SessionStatus
from betcode.domain.sessions.transcript import TranscriptEnd
from betcode.domain.values.identifiers import RunId, RunKey, Seq, SessionId, SessionKey

NO_SEQ = Seq(0)  # before the first event
NO_CRASHES = CrashHistory()


@dataclass(frozen=True, slots=True)
class NewSession:
    """The values that a session is created with; they never change."""

    session_id: SessionId
    provider: str
    working_directory: str
    model: str = ""
    allowed_tools: tuple[str, ...] = ()
    plan_mode: bool = False
    worktree_id: str = ""
    subdirectory: str = ""  # of the worktree, also after a move; empty: at its top, or in none
    asked_place: str = ""  # the location that its client requested; empty: only the working directory
    metadata: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, str] | None = field(default=None, repr=False)  # private; None: the login shell's
    created_ns: int = 0
    forked_from: str = ""  # the session whose history it began with
    forked_at: Seq = NO_SEQ  # the newest event of that
    fork_point: str = ""  # where the agent's own conversation branches off
    budget: Budget = NO_BUDGET  # as it begins; the state has the one that holds


class Landmarks(NamedTuple):
    """Places in a session's log that a compaction, and who attaches, goes by."""

    info: int = 0  # position of the agent's last report about itself
    answer: int = 0  # position of its newest settled message, the number of earlier messages, and its id
    answer_after: int = 0
    answer_id: str = ""
    exchange: int = 0  # the same of the newest message that ended its turn
    exchange_after: int = 0
    compacted: int = 0  # how many messages lie before the boundary
    compacted_at: int = 0  # how many there were at the last compaction
    commands: int = 0  # position of the agent's last list of commands


NO_LANDMARKS = Landmarks()


@dataclass(frozen=True, slots=True)
class SessionState:
    """The values that change during a session."""

    status: SessionStatus = SessionStatus.NEW
    last_seq: Seq = NO_SEQ
    epoch: int = 0  # of the database when the last number was assigned
    name: str = ""
    model: str = ""  # as the agent reports it
    conversation_id: str = ""  # the agent's own id; changes with /clear
    conversation_began: bool = False  # the agent has a transcript to resume
    transcript: TranscriptEnd = TranscriptEnd.FINISHED  # how the agent's own record of the conversation ends
    message_count: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float = 0.0
    context_percent: float = 0.0
    preview: str = ""
    updated_ns: int = 0
    compaction_sequence: Seq = NO_SEQ  # a replay from before this number has a summary instead of the compacted part
    context_tokens: int = 0  # the context size of the agent's last result
    landmarks: Landmarks = NO_LANDMARKS
    crashes: CrashHistory = NO_CRASHES  # that still count
    api_pause: str = ""  # why the model's API does not serve its agent: "limit", "overload", "api"
    api_pause_until_ns: int = 0  # as reported by the API; 0: unknown
    turns: int = 0  # that have ended
    worked_ms: int = 0  # in turns, without waiting for people
    working_since_ns: int = 0  # 0: no turn is at work
    budget: Budget = NO_BUDGET

    @property
    def turn_interrupted(self) -> bool:
        """Return whether an agent died in a turn that is still to be finished."""
        return self.transcript.turn_interrupted

    @property
    def spent(self) -> Amounts:
        """Return what counts against a budget."""
        return Amounts(self.cost_usd, self.input_tokens + self.output_tokens, self.turns, self.worked_ms)


@dataclass(frozen=True, slots=True)
class SessionRow:
    key: SessionKey
    new: NewSession
    state: SessionState
    pending_prompts: int = 0
    run_state: RunState | None = None  # of the newest run
    failure: str = ""  # see SessionBinding.failure


@dataclass(frozen=True, slots=True)
class ConnectedClient:
    """A client with at least one stream on a session."""

    client_id: str
    client_type: str
    connected_ns: int


@dataclass(frozen=True, slots=True)
class NewRun:
    """A run that is about to be started."""

    session: SessionKey
    run_id: RunId
    started_ns: int
    dialogue_version: int = 0
    dialogue_state: bytes = b""  # carried over from the run before it


@dataclass(frozen=True, slots=True)
class RunRow:
    """One agent process's life, how far its journal has been read, and the dialogue's state there."""

    key: RunKey
    session: SessionKey
    run_id: RunId
    state: RunState
    started_ns: int
    holder_pid: int = 0
    agent_pid: int = 0
    agent_start: int = 0  # the kernel's start time, so that a reused pid is not taken for ours
    offset: int = 0
    dialogue_version: int = 0
    dialogue_state: bytes = b""
    last_input: int = 0  # the newest assigned number
    ended_ns: int = 0
    exit_note: str = ""
    cancel_step: CancelStep = CancelStep.NONE
    cancel_queued: bool = False  # messages queued in the agent are cancelled too
    turn_began: int = 0  # in the unit of `holder.platform.start_time_now`


class InputState(StrEnum):
    ACCEPTED = "accepted"
    DELIVERED = "delivered"
    CONSUMED = "consumed"
    CANCELLED = "cancelled"
    UNKNOWN = "unknown"


class InputKind(StrEnum):
    MESSAGE = "message"
    ANSWER = "answer"
    CONTROL = "control"
    COMPACTION = "compaction"  # the agent is asked to compact; messages wait for it
    INTERRUPT = "interrupt"  # for the currently open turn only


OPENS_TURN = frozenset({InputKind.MESSAGE, InputKind.COMPACTION})
NO_SLOT = frozenset({InputKind.CONTROL, InputKind.INTERRUPT})  # goes to an agent at any time


@dataclass(frozen=True, slots=True)
class InputRow:
    """Something to hand to an agent. `number` is 0 until a run was chosen for it."""

    input_id: str  # a message's id; otherwise generated
    session: SessionKey
    kind: InputKind
    payload: bytes = field(repr=False)  # what to hand over, as bytes for the agent's stdin
    state: InputState = InputState.ACCEPTED
    run: RunKey | None = None
    number: int = 0
    created_ns: int = 0
    content: bytes = field(default=b"", repr=False)  # a hash that identifies a repeated message; a request answered
    seq: Seq = NO_SEQ  # of the user_input event that acknowledged a message


class PromptState(StrEnum):
    OPEN = "open"
    ANSWERED = "answered"
    WITHDRAWN = "withdrawn"  # the agent took it back
    LOST = "lost"  # the agent died before an answer reached it: as earlier versions had it
    EXPIRED = "expired"  # expired
    SUPERSEDED = "superseded"  # the agent asked for something different


class CarriedState(StrEnum):
    """How the next agent of an interrupted turn treats a prompt of a lost one, and its answer."""

    NO = ""
    UNSPENT = "unspent"  # no agent got the answer: it is given when the same is asked
    OFFERED = "offered"  # something was asked since: an allow is shown to a person, and not given automatically
    SPENT = "spent"  # the lost agent had the answer: the allowed call may have run


class PromptKind(StrEnum):
    PERMISSION = "permission"
    QUESTION = "question"


@dataclass(frozen=True, slots=True)
class PromptRow:
    request_id: str
    session: SessionKey
    run: RunKey
    kind: PromptKind
    tool_name: str
    input_json: str
    event: bytes  # the AgentEvent as first shown (PermissionRequest), or the AgentEventBatch of a question group
    seq: Seq
    asked_ns: int
    state: PromptState = PromptState.OPEN
    decision: str = ""
    answers: Mapping[str, str] = field(default_factory=dict)  # of questions, as far as answered
    answered_by: str = ""
    answered_ns: int = 0
    idempotency_key: str = ""
    answered_by_type: str = ""  # the kind of client
    description: str = ""
    tool_use_id: str = ""
    agent_id: str = ""  # of the subagent that asked; empty: the agent itself
    message: str = ""  # given with the answer
    updated_input: str = ""  # a person's JSON instead of the agent's own
    grant_pattern: str = ""  # the session grant that was given with the answer
    superseded_by: str = ""  # the request id of the prompt that replaced it
    forwarded_ns: int = 0  # when it was first shown to a client
    expires_ns: int = 0
    last_extended_ns: int = 0
    extension_count: int = 0
    reminders_sent: int = 0
    push_notification_id: str = ""
    kept: CarriedState = CarriedState.NO  # of a turn that continues after its agent was lost

    @property
    def allows(self) -> bool:
        """Return whether it was answered with an allow of any kind."""
        return self.decision.startswith("ALLOW")


@dataclass(frozen=True, slots=True)
class AskedUse:
    """A use of a tool that an agent asked for, as it wrote it."""

    tool_use_id: str
    tool_name: str
    input_json: str
    asked_ns: int


@dataclass(frozen=True, slots=True)
class GrantRow:
    """A grant or refusal of a person for the rest of a session."""

    session: SessionKey
    tool_name: str
    pattern: str  # a rule, such as "Bash(git commit *)"; empty: the whole tool
    allows: bool
    created_ns: int
    granted_by: str = ""
    request_id: str = ""  # of the prompt it was given with


@dataclass(frozen=True, slots=True)
class StoredEvent:
    seq: Seq
    kind: int  # the number of its field in AgentEvent
    data: bytes  # the serialized AgentEvent, sequence included


@dataclass(frozen=True, slots=True)
class ForkedPart:
    """The parts of a fork besides its copied events."""

    events: tuple[StoredEvent, ...]  # its own first ones
    unanswered: frozenset[str] = frozenset()  # messages of the copied part that no turn in it answered


@dataclass(frozen=True, slots=True)
class Blob:
    sha256: str
    data: bytes = field(repr=False)


@dataclass(frozen=True)
class Batch:
    """Events in order. `first` is 0 if they are not history and change no reader's position."""

    first: Seq
    last: Seq
    events: tuple[bytes, ...] = field(repr=False)

    @cached_property
    def joined(self) -> bytes:
        """Return the same bytes as one AgentEventBatch, made once for all senders; nothing is parsed."""
        return join_events(self.events)


@dataclass(frozen=True, slots=True)
class Page:
    """Events in order, read backwards from somewhere, and whether there are others before them."""

    events: tuple[bytes, ...] = field(repr=False)
    has_more: bool


def join_events(events: tuple[bytes, ...]) -> bytes:
    parts: list[bytes] = []
    for data in events:
        parts.append(_tagged_length(len(data)))
        parts.append(data)
    return b"".join(parts)


def _tagged_length(length: int) -> bytes:
    out = bytearray(b"\x0a")
    while length > 127:
        out.append(length & 127 | 128)
        length >>= 7
    out.append(length)
    return bytes(out)
