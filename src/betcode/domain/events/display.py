"""Convert JSON to a Struct for display, bounded in depth and size.

It is only for display. The agent's own text is compared, hashed and sent back.
"""

import json
import math
from collections.abc import Mapping
from typing import Any

from google.protobuf.struct_pb2 import ListValue, Struct, Value

from betcode.domain.values.text import valid

DEEPEST = 20  # levels of JSON; an event around it has at most 24
_STRING_BYTES = 8 * 1024
_TOTAL_BYTES = 64 * 1024
_NODE_BYTES = 16  # approximate size of an empty value on the wire
_MOST_VALUES = 400_000  # beyond that, reading it would cost more memory than showing it is worth
_EXACT = 2**53  # integers beyond are shown as text: a double would change them
_MORE = "…"


def struct_of(source: str | bytes | Mapping[str, Any]) -> Struct:
    """Return the value for display; a value that is no object is put under one key. Never raises."""
    shown = Struct()
    try:
        value = _read(source)
        budget = _Budget()
        if isinstance(value, Mapping):
            _fill_struct(shown, value, 1, budget)
        else:
            _fill(shown.fields["value"], value, 1, budget)
    except (ValueError, RecursionError) as trouble:
        shown.Clear()
        shown.fields[_MORE].string_value = f"cannot be shown: {_reason(trouble)}"
    return shown


class _Budget:
    """The number of bytes that may still be shown."""

    __slots__ = ("left",)

    def __init__(self) -> None:
        self.left = _TOTAL_BYTES

    def spend(self, size: int) -> bool:
        self.left -= size
        return self.left >= 0


def _read(source: str | bytes | Mapping[str, Any]) -> Any:
    if isinstance(source, Mapping):
        return source
    if isinstance(source, bytes):
        source = source.decode(errors="replace")
    if len(source) > _MOST_VALUES and source.count(",") + source.count("[") + source.count("{") > _MOST_VALUES:
        raise ValueError(f"{len(source)} characters with too many values")
    return json.loads(source, parse_int=_integer)


def _integer(text: str) -> int | str:
    return int(text) if len(text) < 300 else text


def _reason(trouble: ValueError | RecursionError) -> str:
    return "nested too deeply" if isinstance(trouble, RecursionError) else str(trouble)


def _fill_struct(shown: Struct, value: Mapping[str, Any], depth: int, budget: _Budget) -> None:
    for name, item in value.items():
        key = _text(name)
        if not budget.spend(len(key) + 2 * _NODE_BYTES):
            shown.fields[_MORE].string_value = f"{len(value)} entries in all"
            return
        _fill(shown.fields[key], item, depth, budget)


def _fill_list(shown: ListValue, value: list[Any], depth: int, budget: _Budget) -> None:
    for item in value:
        if not budget.spend(_NODE_BYTES):
            shown.values.add().string_value = f"{_MORE} {len(value)} in all"
            return
        _fill(shown.values.add(), item, depth, budget)


def _fill(shown: Value, value: Any, depth: int, budget: _Budget) -> None:
    match value:
        case None:
            shown.null_value = 0  # type: ignore[assignment]
        case bool():
            shown.bool_value = value
        case str():
            shown.string_value = _bounded(value, budget)
        case int() if abs(value) > _EXACT:
            shown.string_value = str(value)
        case float() if not math.isfinite(value):
            shown.string_value = str(value)
        case int() | float():
            shown.number_value = value
        case Mapping() | list() if depth >= DEEPEST:
            shown.string_value = f"{_MORE} nested deeper"
        case Mapping():
            shown.struct_value.SetInParent()
            _fill_struct(shown.struct_value, value, depth + 1, budget)
        case list():
            shown.list_value.SetInParent()
            _fill_list(shown.list_value, value, depth + 1, budget)
        case _:
            shown.string_value = _bounded(str(value), budget)


def _bounded(text: str, budget: _Budget) -> str:
    data = valid(text).encode()
    room = min(_STRING_BYTES, max(budget.left, 256))
    if len(data) <= room:
        budget.spend(len(data))
        return data.decode()
    budget.spend(room)
    return f"{data[:room].decode(errors='ignore')}{_MORE} [{len(data)} bytes in all]"


def _text(name: object) -> str:
    text = valid(str(name))
    return text if len(text) <= 256 else text[:256] + _MORE
