"""Limit an event to 256 KiB: longer content is cut and marked, and stored complete as a blob."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from betcode.domain.store.rows import Blob
from betcode.domain.values.text import beginning
from betcode.v1.agent_pb2 import AgentEvent

LIMIT_BYTES = 256 * 1024
_ROOM = LIMIT_BYTES - 128  # the sequence is set later
_KEEP_BYTES = (64 * 1024, 4 * 1024, 256)  # of each long text, tried one after the other
_MOST_CUTS = 32
_STRUCT = "google.protobuf.Struct"


def bound(event: AgentEvent) -> tuple[AgentEvent, tuple[Blob, ...]]:
    """Return the event as it can be stored and sent, and the full texts that were truncated."""
    if event.ByteSize() <= _ROOM:
        return event, ()
    return _cut(event)


@dataclass(frozen=True, slots=True)
class _TextField:
    """The position of one text in a message."""

    holder: Any  # the message, repeated field or map that has it
    key: str | int
    path: str
    data: bytes

    def put(self, text: str) -> None:
        if isinstance(self.holder, Message):
            setattr(self.holder, str(self.key), text)
        else:
            self.holder[self.key] = text


def _cut(event: AgentEvent) -> tuple[AgentEvent, tuple[Blob, ...]]:
    short = AgentEvent()
    short.CopyFrom(event)
    _drop_display(short)
    blobs: dict[str, Blob] = {}
    longest = sorted(_texts(short, ""), key=lambda place: -len(place.data))[:_MOST_CUTS]
    for keep in _KEEP_BYTES:
        for place in longest:
            if short.ByteSize() <= _ROOM:
                return short, tuple(blobs.values())
            if len(place.data) > 2 * keep or (len(place.data) > keep and keep > _KEEP_BYTES[-1]):
                blob = blobs.get(place.path) or _kept(short, place.path, place.data)
                blobs[place.path] = blob
                place.put(f"{beginning(place.data, keep)}\n… [{len(place.data)} bytes in all, sha256 {blob.sha256}]")
    _shorten_lists(short, event, blobs)
    return short, tuple(blobs.values())


def _kept(event: AgentEvent, path: str, data: bytes) -> Blob:
    blob = Blob(hashlib.sha256(data).hexdigest(), data)
    event.cuts.add(field=path, size_bytes=len(data), sha256=blob.sha256)
    return blob


def _drop_display(event: AgentEvent) -> None:
    """Omit a Struct that is too big to be sent: the same input is also there as text."""
    for holder in (event.tool_call_start, event.permission_request):
        if holder.HasField("input") and holder.input.ByteSize() > _ROOM // 2:
            holder.input.Clear()
            holder.input.fields["…"].string_value = "too long to be shown"


def _texts(message: Message, prefix: str) -> Iterator[_TextField]:
    for field, value in message.ListFields():
        path = f"{prefix}{field.name}"
        if field.name == "cuts" and not prefix:
            continue
        if field.message_type is not None and field.message_type.full_name == _STRUCT:
            continue
        yield from _texts_of(message, field, value, path)


def _texts_of(message: Message, field: FieldDescriptor, value: Any, path: str) -> Iterator[_TextField]:
    is_map = field.message_type is not None and field.message_type.GetOptions().map_entry
    if is_map:
        for key in value:
            if isinstance(value[key], str):
                yield _TextField(value, key, f"{path}[{key}]", value[key].encode())
    elif field.is_repeated:
        for index, item in enumerate(value):
            if isinstance(item, str):
                yield _TextField(value, index, f"{path}[{index}]", item.encode())
            elif isinstance(item, Message):
                yield from _texts(item, f"{path}[{index}].")
    elif isinstance(value, str):
        yield _TextField(message, field.name, path, value.encode())
    elif isinstance(value, Message):
        yield from _texts(value, f"{path}.")


def _shorten_lists(short: AgentEvent, whole: AgentEvent, blobs: dict[str, Blob]) -> None:
    """Many small values, so that cutting texts was not enough: lists lose their ends; the whole event is the blob."""
    kind = short.WhichOneof("event")
    if kind is None:
        return
    body: Message = getattr(short, kind)
    blobs[kind] = _kept(short, kind, whole.SerializeToString(deterministic=True))
    for field, value in body.ListFields():
        if not field.is_repeated:
            continue
        keys = list(value) if hasattr(value, "keys") else None
        while len(value) and short.ByteSize() > _ROOM:
            half = len(value) // 2
            if keys is None:
                del value[half:]
            else:
                for key in keys[half:]:
                    del value[key]
                keys = keys[:half]
    if short.ByteSize() > _ROOM:
        body.Clear()
