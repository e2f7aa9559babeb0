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
    """A tool call of the model; the arguments are its own text, which need not be JSON."""

    call_id: str
    name: str
    arguments: str


class UserMessage(msgspec.Struct, frozen=True, tag="message"):
    """A person's message, which begins a turn."""

    message_id: str
    parts: tuple[ContentPart, ...]


class ModelAnswer(msgspec.Struct, frozen=True, tag="answer", omit_defaults=True):
    """One answer of the model."""

    text: str = ""
    calls: tuple[Call, ...] = ()
    items: tuple[dict[str, object], ...] = ()  # unchanged, for an API that needs them back
    is_partial: bool = False  # it was stopped in the middle


class AnswerReported(msgspec.Struct, frozen=True, tag="told"):
    """The newest answer and its calls were reported to the client."""


class CallBegun(msgspec.Struct, frozen=True, tag="begun"):
    """A call with side effects is about to run; without an output after it, its progress is unknown."""

    call_id: str


class ToolOutput(msgspec.Struct, frozen=True, tag="output", omit_defaults=True):
    """The result of a call."""

    call_id: str
    text: str
    is_error: bool = False


class Trimmed(msgspec.Struct, frozen=True, tag="trimmed"):
    """That many of the oldest exchanges, and the text of some outputs, are no longer shown to the model."""

    exchanges: int
    outputs: tuple[str, ...] = ()


class Ended(msgspec.Struct, frozen=True, tag="ended"):
    """The turn of that message is over."""

    message_id: str
    stop_reason: StopReason
    error: str = ""


Record = UserMessage | ModelAnswer | AnswerReported | CallBegun | ToolOutput | Trimmed | Ended
