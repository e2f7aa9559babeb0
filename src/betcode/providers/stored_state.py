"""Encodes the state of a dialogue, and bounds its size."""

from typing import Generic, TypeVar

import msgspec

_REMEMBERED = 64  # ids of ended items, so that nothing ends twice

StateT = TypeVar("StateT", bound=msgspec.Struct)
Key = TypeVar("Key")
Value = TypeVar("Value")


class UnreadableState(Exception):
    """The state was stored by a version that this one cannot read."""


class StoredState(Generic[StateT]):
    """Encodes and decodes one version of a dialogue's state."""

    def __init__(self, kind: type[StateT], version: int) -> None:
        self._encode = msgspec.msgpack.Encoder().encode
        self._decode = msgspec.msgpack.Decoder(kind).decode
        self._version = version

    def dump(self, state: StateT) -> bytes:
        return self._encode(state)

    def load(self, data: bytes, version: int) -> StateT:
        """Raises UnreadableState."""
        if version != self._version:
            raise UnreadableState(f"version {version}")
        try:
            return self._decode(data)
        except msgspec.DecodeError as trouble:
            raise UnreadableState(str(trouble)) from trouble


def remember(ids: list[str], name: str) -> None:
    """Append an id, and drop the oldest ones over the limit."""
    ids.append(name)
    if len(ids) > _REMEMBERED:
        del ids[0]


def keep(entries: dict[Key, Value], key: Key, value: Value, most: int = _REMEMBERED) -> None:
    """Add an entry; past `most` the oldest is dropped, because the state is written with every batch."""
    entries[key] = value
    if len(entries) > most:
        del entries[next(iter(entries))]
