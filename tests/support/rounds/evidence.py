"""What is known after a round, from the daemon, its files, its clients and the agents: plain values for the judge."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from betcode.v1 import agent_pb2 as v1

Numbered = tuple[int, bytes]  # an event's number and its bytes, as somebody was shown it


@dataclass(frozen=True, slots=True)
class View:
    """What one client was shown in one piece, from its first event to wherever it was cut."""

    client: str
    after: int
    shown: tuple[Numbered, ...]
    asked_after: int | None = None  # a snapshot stood for what comes between this number and `after`


@dataclass(frozen=True, slots=True)
class Sent:
    """A message as a client sent it; `seq` is the daemon's acknowledgement, None without a clear answer."""

    message_id: str
    text: str
    seq: int | None = None
    refused: str = ""  # the code of a clear refusal


@dataclass(frozen=True, slots=True)
class Given:
    """An answer to a prompt, as a client gave it."""

    request_id: str
    allow: bool
    outcome: str  # "taken", "again", a refusal's code, or "" where the client got no clear answer


@dataclass(frozen=True, slots=True)
class Asked:
    """What became of a compaction, as the client that asked for it was told."""

    outcome: str  # "done", a refusal's code, or "" where the client got no clear answer
    messages_before: int = 0
    messages_after: int = 0
    tokens_saved: int = 0


@dataclass(frozen=True, slots=True)
class Noted:
    """One line of an agent's own ledger."""

    what: str
    name: str
    pid: int
    behaviour: str = ""
    at: float = 0.0  # of the machine's monotonic clock
    turn: str = ""  # the message in whose turn a tool ran


@dataclass(frozen=True, slots=True)
class InputSeen:
    kind: str
    state: str


@dataclass(frozen=True, slots=True)
class PromptSeen:
    state: str
    decision: str


@dataclass(frozen=True, slots=True)
class SessionEvidence:
    session_id: str
    status: str = "idle"
    unnoted: tuple[int, ...] = ()  # turns without a snapshot of the tree, though a turn before has one
    is_deleted: bool = False
    may_have_gaps: bool = False  # its holder was killed, so a torn line may be missing
    log: tuple[Numbered, ...] = ()  # the file itself
    after_rest: tuple[Numbered, ...] = ()  # what was added to it though nothing was left to do
    followed: tuple[Numbered, ...] = ()  # Follow from 0
    resumed: tuple[Numbered, ...] = ()  # ResumeSession from 0
    boundary: int = 0  # up to where it was compacted
    forked_at: int = 0  # the newest event that it was given by the session it was forked from
    original: tuple[Numbered, ...] = ()  # the log of that session up to there, where it is still known
    reading: tuple[v1.AgentEvent, ...] = ()  # one undisturbed translation of its journals
    views: tuple[View, ...] = ()
    sent: tuple[Sent, ...] = ()
    given: tuple[Given, ...] = ()
    compactions: tuple[Asked, ...] = ()
    ledger: tuple[Noted, ...] = ()
    keeps_ledger: bool = True  # the real CLI does not
    refusals: tuple[str, ...] = ()  # that no client should ever meet
    inputs: Mapping[str, InputSeen] = field(default_factory=dict)
    ended_at: Mapping[str, float] = field(default_factory=dict)  # when a message was first seen in a terminal state
    prompts: Mapping[str, PromptSeen] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RoundEvidence:
    sessions: tuple[SessionEvidence, ...]
    breaches: tuple[str, ...] = ()  # processes without a row, running rows without a process
    unasked_ends: tuple[str, ...] = ()  # of the daemon
    errors_logged: tuple[str, ...] = ()
    left_running: tuple[str, ...] = ()  # after everything was ended
    left_lying: tuple[str, ...] = ()  # files that should be gone
    left_open: tuple[str, ...] = ()  # files of agents that have ended, in the daemon
    descriptors: tuple[int, int] = (0, 0)  # of the daemon: before anything happened, after everything settled
    resident_bytes: int = 0
