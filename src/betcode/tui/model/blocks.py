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
    """A value that is not here whole: it was too long for its event, or to be kept in memory."""

    field: str  # such as "tool_call_result.output"
    size_bytes: int
    sha256: str  # `Client.read_blob` gives it; empty: the event has it whole
    sequence: int = 0  # of that event


@dataclass(slots=True, eq=False)
class Block:
    """One piece, found again by `key` however its events arrive; `first` is the number of the first of them."""

    key: str
    first: int
    parent_id: str = ""  # of the tool call whose subagent said it
    parent: "ToolCallBlock | None" = field(default=None, repr=False)  # that call, if it is loaded
    revision: int = 0
    cuts: tuple[TruncatedField, ...] = ()  # what was too long for its events


@dataclass(slots=True, eq=False)
class UserMessage(Block):
    """A message of a person."""

    text: str = ""
    message_id: str = ""
    client_id: str = ""
    by: str = ""  # who typed it, as people call them; empty: here
    attachments: tuple[str, ...] = ()
    state: v1.MessageState.ValueType = v1.MESSAGE_STATE_ACCEPTED
    reason: str = ""


@dataclass(slots=True, eq=False)
class AgentText(Block):
    """What the agent says, piece by piece until it is settled; void where the settled text is empty."""

    pieces: list[str] = field(default_factory=list)
    is_settled: bool = False
    is_partial: bool = False  # cut off before the rest was said

    @property
    def text(self) -> str:
        if len(self.pieces) > 1:
            self.pieces = ["".join(self.pieces)]
        return self.pieces[0] if self.pieces else ""


@dataclass(slots=True, eq=False)
class AgentThinking(AgentText):
    """What the agent thinks; folded unless somebody opens it."""


@dataclass(slots=True, eq=False)
class ToolCallBlock(Block):
    """A call of a tool with its result, and what a subagent said that it began.

    One whose call is not loaded is not `is_called`, and stands where its result came.
    """

    tool_id: str = ""
    is_called: bool = False
    name: str = ""
    telling: str = ""  # the one part of the input that says most
    input_json: str = ""
    description: str = ""
    output: str = ""
    state: ToolState = ToolState.RUNNING
    denied_by: str = ""
    duration_ms: int = 0
    progress: str = ""  # how the things to do stand, where the call changed them
    children: list[Block] = field(default_factory=list)

    @property
    def shown_state(self) -> ToolState:
        """Its own, or that of the call that it stands below where that was broken off: the subagent went with it."""
        above = self.parent
        while self.state is ToolState.RUNNING and above is not None:
            if above.state is ToolState.BROKEN_OFF:
                return ToolState.BROKEN_OFF
            above = above.parent
        return self.state


@dataclass(slots=True, eq=False)
class PromptBlock(Block):
    """A permission or question, open or long answered."""

    request_id: str = ""  # of questions that were asked together: their group
    title: str = ""
    is_question: bool = False
    question: str = ""  # its whole text
    state: PromptState = PromptState.OPEN
    outcome: str = ""  # in words; empty while it is open


@dataclass(slots=True, eq=False)
class NoticeBlock(Block):
    """What betcode or the agent tells beside the conversation, in one line or a few."""

    lines: tuple[str, ...] = ()
    tone: Tone = Tone.QUIET


@dataclass(slots=True, eq=False)
class TurnEnd(Block):
    """Where a turn ended, how, and what it took."""

    stop_reason: str = ""
    summary: str = ""  # what it took
