"""What a conversation consists of for somebody who reads it.

Blocks change while their events come in, thousands a second where an agent streams; so they are changed in place, and
`revision` says that what was drawn of one is out of date.
"""

from dataclasses import dataclass, field
from enum import Enum, auto

from betcode.v1 import agent_pb2 as v1


class ToolState(Enum):
    RUNNING = auto()
    DONE = auto()
    FAILED = auto()
    DENIED = auto()
    BROKEN_OFF = auto()  # its turn ended without a result


@dataclass(slots=True)
class Block:
    """One piece, found again by `key` however its events arrive; `first` is the number of the first of them."""

    key: str
    first: int
    revision: int = 0


@dataclass(slots=True)
class Said(Block):
    """A message of a person."""

    text: str = ""
    message_id: str = ""
    client_id: str = ""
    attachments: tuple[str, ...] = ()
    state: v1.MessageState.ValueType = v1.MESSAGE_STATE_ACCEPTED
    reason: str = ""


@dataclass(slots=True)
class Words(Block):
    """What the agent says, piece by piece until it is settled."""

    pieces: list[str] = field(default_factory=list)
    is_settled: bool = False
    is_partial: bool = False  # cut off before the rest was said

    @property
    def text(self) -> str:
        if len(self.pieces) > 1:
            self.pieces = ["".join(self.pieces)]
        return self.pieces[0] if self.pieces else ""


@dataclass(slots=True)
class Thoughts(Words):
    """What the agent thinks; folded unless somebody opens it."""


@dataclass(slots=True)
class ToolUse(Block):
    """A call of a tool with its result, and what a subagent said that it began."""

    name: str = ""
    telling: str = ""  # the one part of the input that says most
    input_json: str = ""
    description: str = ""
    output: str = ""
    state: ToolState = ToolState.RUNNING
    denied_by: str = ""
    duration_ms: int = 0
    cuts: tuple[v1.Cut, ...] = ()  # what was too long for its event
    children: list[Block] = field(default_factory=list)


@dataclass(slots=True)
class Asked(Block):
    """A permission or question, open or long answered."""

    request_id: str = ""
    title: str = ""
    outcome: str = ""  # empty while it is open


class Tone(Enum):
    QUIET = auto()
    NOTABLE = auto()
    BAD = auto()


@dataclass(slots=True)
class Told(Block):
    """What betcode or the agent tells beside the conversation, in one line or a few."""

    lines: tuple[str, ...] = ()
    tone: Tone = Tone.QUIET


@dataclass(slots=True)
class TurnEnd(Block):
    """Where a turn ended, how, and what it took."""

    stop_reason: str = ""
    summary: str = ""
