"""Reject values that a message can carry but that are invalid: times out of range, numbers that JSON lacks.

The wire format accepts any pair of integers as a Timestamp, and NaN as a number of a Struct. Each would fail later, in
the middle of a call, so every request is checked once, when it is parsed. The fields that can hold such a value are
determined once per message type. Most types have none and are not read at all.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import Any, cast

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message
from google.protobuf.struct_pb2 import ListValue, Struct, Value
from google.protobuf.timestamp_pb2 import Timestamp

from betcode.domain.errors import InvalidRequest

_FIRST_S, _LAST_S = -62_135_596_800, 253_402_300_799  # the years 1 to 9999
_LONGEST_S = 315_576_000_000  # 10,000 years
_NANOS = 1_000_000_000


def check_values(message: Message) -> None:
    """Raises InvalidRequest, with the name of the field, where a value is out of range."""
    if may_be_out_of_range(cast("Descriptor", message.DESCRIPTOR)):
        _check(message, "")


@cache
def may_be_out_of_range(kind: Descriptor) -> bool:
    """Return whether a message of this type, or one inside it, can hold a value that must be checked."""
    return _reaches_checked(kind, frozenset())


def _reaches_checked(kind: Descriptor, above: frozenset[str]) -> bool:
    if kind.full_name in _CHECKS:
        return True
    inside = (each.message_type for each in kind.fields if each.message_type is not None)
    return any(_reaches_checked(each, above | {kind.full_name}) for each in inside if each.full_name not in above)


def _check(message: Message, path: str) -> None:
    kind = cast("Descriptor", message.DESCRIPTOR)
    if check := _CHECKS.get(kind.full_name):
        if wrong := check(message):
            raise InvalidRequest(f"{path or kind.name}: {wrong}", field=path)
        return
    for field in kind.fields:
        if field.message_type is not None and may_be_out_of_range(field.message_type):
            for inner in _inside(message, field):
                _check(inner, f"{path}.{field.name}".lstrip("."))


def _inside(message: Message, field: FieldDescriptor) -> Iterable[Message]:
    held: Any = getattr(message, field.name)
    if cast("Descriptor", field.message_type).GetOptions().map_entry:
        return cast("Iterable[Message]", held.values())
    if field.is_repeated:
        return cast("Iterable[Message]", held)
    return (held,) if message.HasField(field.name) else ()


def _wrong_moment(moment: Timestamp) -> str:
    if _FIRST_S <= moment.seconds <= _LAST_S and 0 <= moment.nanos < _NANOS:
        return ""
    return "the time is not between the years 1 and 9999"


def _wrong_duration(span: Duration) -> str:
    has_one_sign = not span.seconds or not span.nanos or (span.seconds > 0) == (span.nanos > 0)
    if abs(span.seconds) <= _LONGEST_S and abs(span.nanos) < _NANOS and has_one_sign:
        return ""
    return "the duration is longer than 10,000 years, or its two parts differ in sign"


def _wrong_struct(value: Message) -> str:
    for each in _leaves(value):
        if each.WhichOneof("kind") is None:
            return "a value in it is empty: send null"
        if not math.isfinite(each.number_value):
            return "JSON has no number for NaN or Infinity: send a finite number or a text"
    return ""


def _leaves(value: Message) -> Iterator[Value]:
    """The values in a value that are no lists and no objects."""
    if isinstance(value, Struct):
        for each in value.fields.values():
            yield from _leaves(each)
    elif isinstance(value, ListValue):
        for each in value.values:
            yield from _leaves(each)
    elif isinstance(value, Value):
        kind = value.WhichOneof("kind")
        if kind == "struct_value":
            yield from _leaves(value.struct_value)
        elif kind == "list_value":
            yield from _leaves(value.list_value)
        else:
            yield value


_CHECKS: Mapping[str, Callable[[Any], str]] = {
    "google.protobuf.Timestamp": _wrong_moment,
    "google.protobuf.Duration": _wrong_duration,
    "google.protobuf.Struct": _wrong_struct,
    "google.protobuf.Value": _wrong_struct,
    "google.protobuf.ListValue": _wrong_struct,
}
