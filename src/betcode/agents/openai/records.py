"""The records of a conversation, in order: one record is one line of its transcript."""

from typing import Literal

import msgspec

StopReason = Literal["end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled", "error"]


class ContentPart(msgspec.Struct, frozen=True, omit_defaults=True):
    """A piece of a message: text, or an image as the base64 of its bytes."""

    text: str = ""
    image: str = ""
    mime_type: str = ""


class Call(msgspec.Struct, frozen=True):
    """A use of a tool that the model wants; the arguments are its own text, which need not be JSON."""

    call_id: str
    name: str
    arguments: str


class UserMessage(msgspec.Struct, frozen=True, tag="message"):
    """A person's message, which begins a turn."""

    message_id: str
    parts: tuple[ContentPart, ...]


class ModelAnswer(msgspec.Struct, frozen=True, tag="answer", omit_defaults=True):
    """What the model said at once."""

    text: str = ""
    calls: tuple[Call, ...] = ()
    items: tuple[dict[str, object], ...] = ()  # as they came, for a wire that wants them back
    is_partial: bool = False  # it was stopped in the middle


class AnswerReported(msgspec.Struct, frozen=True, tag="told"):
    """The client was told of the newest answer and its calls."""


class Begun(msgspec.Struct, frozen=True, tag="begun"):
    """A call that may change something is about to be run; without an output behind it nobody knows how far it got."""

    call_id: str


class ToolOutput(msgspec.Struct, frozen=True, tag="output", omit_defaults=True):
    """What came of a call."""

    call_id: str
    text: str
    is_error: bool = False


class Trimmed(msgspec.Struct, frozen=True, tag="trimmed"):
    """The oldest exchanges, so many in all, and the text of some outputs are not shown to the model any more."""

    exchanges: int
    outputs: tuple[str, ...] = ()


class Ended(msgspec.Struct, frozen=True, tag="ended"):
    """The turn of that message is over."""

    message_id: str
    stop_reason: StopReason
    error: str = ""


Record = UserMessage | ModelAnswer | AnswerReported | Begun | ToolOutput | Trimmed | Ended
