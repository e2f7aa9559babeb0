"""Encodes the state of a dialogue, and bounds its size."""

from typing import Generic, TypeVar

import msgspec

_REMEMBERED = 64  # ids of what is over, so that nothing ends twice

StateT = TypeVar("StateT", bound=msgspec.Struct)
Key = TypeVar("Key")
Value = TypeVar("Value")


class UnreadableState(Exception):
    """Stored by a version that nothing here can read."""


class StoredState(Generic[StateT]):
    """One version of one dialogue's state as bytes, and back."""

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
    """Keep the newest."""
    ids.append(name)
    if len(ids) > _REMEMBERED:
        del ids[0]


def keep(entries: dict[Key, Value], key: Key, value: Value, most: int = _REMEMBERED) -> None:
    """Add an entry; past `most` the oldest is dropped, since a state is written with every batch."""
    entries[key] = value
    if len(entries) > most:
        del entries[next(iter(entries))]
