"""The blocks of a conversation.

Blocks change while their events arrive, thousands per second while an agent streams. They are therefore changed in
place, and `revision` tells that a rendering is out of date. Two blocks are equal only if they are the same object.
"""

from dataclasses import dataclass, field
from enum import Enum, auto

from betcode.v1 import agent_pb2 as v1


class ToolState(Enum):
    RUNNING = auto()
    DONE = auto()
    FAILED = auto()
    DENIED = auto()
    BROKEN_OFF = auto()  # its turn or its agent ended without a result


class PromptState(Enum):
    OPEN = auto()
    ALLOWED = auto()
    DENIED = auto()
    ANSWERED = auto()
    GONE = auto()  # withdrawn, superseded or expired: nobody decided


class Tone(Enum):
    QUIET = auto()
    NOTABLE = auto()
    BAD = auto()


@dataclass(frozen=True, slots=True)
class TruncatedField:
    """A value that is incomplete here: it was too long for its event or for memory."""

    field: str  # such as "tool_call_result.output"
    size_bytes: int
    sha256: str  # for `Client.read_blob`; empty: the event has the whole value
    sequence: int = 0  # of that event


@dataclass(slots=True, eq=False)
class Block:
    """One block, identified by `key`; `first` is the number of its first event."""

    key: str
    first: int
    parent_id: str = ""  # the tool call of the subagent that wrote it
    parent: "ToolCallBlock | None" = field(default=None, repr=False)  # that call, if it is loaded
    revision: int = 0
    cuts: tuple[TruncatedField, ...] = ()  # values that were too long for their events


@dataclass(slots=True, eq=False)
class UserMessage(Block):
    """A message of a person."""

    text: str = ""
    message_id: str = ""
    client_id: str = ""
    by: str = ""  # the name of its author; empty: this client
    attachments: tuple[str, ...] = ()
    state: v1.MessageState.ValueType = v1.MESSAGE_STATE_ACCEPTED
    reason: str = ""


@dataclass(slots=True, eq=False)
class AgentText(Block):
    """Text of the agent, streamed until it is final; not shown if the final text is empty."""

    pieces: list[str] = field(default_factory=list)
    is_settled: bool = False
    is_partial: bool = False  # interrupted before its end

    @property
    def text(self) -> str:
        if len(self.pieces) > 1:
            self.pieces = ["".join(self.pieces)]
        return self.pieces[0] if self.pieces else ""


@dataclass(slots=True, eq=False)
class AgentThinking(AgentText):
    """Thinking of the agent; folded by default."""


@dataclass(slots=True, eq=False)
class ToolCallBlock(Block):
    """A tool call with its result, and the output of its subagent.

    If only the result is loaded, `is_called` is False and the block is where the result arrived.
    """

    tool_id: str = ""
    is_called: bool = False
    name: str = ""
    input_summary: str = ""  # the most informative part of the input
    input_json: str = ""
    description: str = ""
    output: str = ""
    state: ToolState = ToolState.RUNNING
    denied_by: str = ""
    duration_ms: int = 0
    progress: str = ""  # the state of the todo list, if the call changed it
    children: list[Block] = field(default_factory=list)

    @property
    def shown_state(self) -> ToolState:
        """Its own state, or that of its parent call if that was broken off: the subagent ended with it."""
        above = self.parent
        while self.state is ToolState.RUNNING and above is not None:
            if above.state is ToolState.BROKEN_OFF:
                return ToolState.BROKEN_OFF
            above = above.parent
        return self.state


@dataclass(slots=True, eq=False)
class PromptBlock(Block):
    """A permission request or question, open or answered."""

    request_id: str = ""  # questions that were asked together share it
    title: str = ""
    is_question: bool = False
    question: str = ""  # the full text
    state: PromptState = PromptState.OPEN
    outcome: str = ""  # as text; empty while it is open


@dataclass(slots=True, eq=False)
class NoticeBlock(Block):
    """A notice of betcode or the agent, in one line or a few."""

    lines: tuple[str, ...] = ()
    tone: Tone = Tone.QUIET


@dataclass(slots=True, eq=False)
class TurnEnd(Block):
    """The end of a turn, with its result and its usage."""

    stop_reason: str = ""
    summary: str = ""  # the usage, as text
