"""Decode one line to or from an agent that speaks the protocol as a frame."""

from collections.abc import Callable
from typing import Any, TypeVar

import msgspec
from msgspec import Raw, Struct

from betcode.wire import repair
from betcode.wire.acp.frames import Message
from betcode.wire.values import Malformed

_DEEPEST = 200  # levels that are still read when a line is nested beyond measure
_READS = 12  # how many fields may be invalid before a frame is rejected
_refused = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
T = TypeVar("T", bound=Struct)

_message: Callable[[bytes], Message] = msgspec.json.Decoder(Message).decode


def decode(line: bytes) -> Message | Malformed:
    """Decode the line. Never raises."""
    try:
        return _message(line)
    except _refused as refusal:
        return _second_try(line, str(refusal))


def read(part: Raw | bytes, kind: type[T]) -> T | None:
    """Decode a part of a frame, as far as possible; None: it is something else. Never raises."""
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
    """Decode a part of unknown shape; None if it is malformed. Never raises."""
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
    """Decode repaired text without fields of unexpected types, because a lost answer is a turn without an end."""
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
