"""One line of an agent that speaks the protocol, or of what it was told, as a frame."""

from collections.abc import Callable
from typing import Any, TypeVar

import msgspec
from msgspec import Raw, Struct

from betcode.wire import repair
from betcode.wire.acp.frames import Message
from betcode.wire.values import Malformed

_DEEPEST = 200  # levels that are still read when a line is nested beyond measure
_READS = 12  # how many fields may be wrong before a frame is given up
_refused = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
T = TypeVar("T", bound=Struct)

_message: Callable[[bytes], Message] = msgspec.json.Decoder(Message).decode


def decode(line: bytes) -> Message | Malformed:
    """What the line is. Never raises."""
    try:
        return _message(line)
    except _refused as refusal:
        return _second_try(line, str(refusal))


def read(part: Raw | bytes, kind: type[T]) -> T | None:
    """A part of a frame, as far as it can be read; None: it is something else. Never raises."""
    text = bytes(part)
    if not text or text == b"null":
        return None
    try:
        return msgspec.json.decode(text, type=kind, strict=False)
    except _refused:
        try:
            return _salvaged(_value(text), kind)
        except (*_refused, ValueError):
            return None


def plain(part: Raw | bytes) -> Any:
    """What is in a part whose shape is not known; None where it cannot be read. Never raises."""
    text = bytes(part)
    if not text:
        return None
    try:
        return msgspec.json.decode(text)
    except _refused:
        try:
            return _value(text)
        except (*_refused, ValueError):
            return None


def _second_try(line: bytes, reason: str) -> Message | Malformed:
    """With repaired text and without what is of another type than expected: a lost answer is a turn without an end."""
    if not line.strip().startswith(b"{"):
        return Malformed(line, "no JSON object")
    try:
        found = _salvaged(_value(line), Message)
    except (*_refused, ValueError) as refusal:
        return Malformed(line, str(refusal) or "nested too deeply")
    return found or Malformed(line, reason)


def _value(text: bytes) -> Any:
    try:
        return msgspec.json.decode(text)
    except _refused:
        return msgspec.json.decode(repair.plain_json(repair.shallow(text, _DEEPEST)))


def _salvaged(value: Any, kind: type[T]) -> T | None:
    for _ in range(_READS):
        try:
            return msgspec.json.decode(msgspec.json.encode(value), type=kind, strict=False)
        except msgspec.ValidationError as again:
            if not repair.without(value, str(again)):
                return None
    return None
