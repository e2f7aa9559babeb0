"""Reads fields of the gateway's messages, whatever their type."""

from collections.abc import Mapping
from typing import Any

Json = dict[str, Any]


def parts_of(entry: Mapping[str, Any]) -> list[Json]:
    content = entry.get("content")
    return [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []


def text_of(entry: Mapping[str, Any]) -> str:
    content = entry.get("content")
    if isinstance(content, str):
        return content
    return "".join(word(part, "text") for part in parts_of(entry) if part.get("type") == "text")


def part(data: Mapping[str, Any], name: str) -> Json:
    value = data.get(name)
    return value if isinstance(value, dict) else {}


def word(data: Mapping[str, Any], name: str) -> str:
    value = data.get(name)
    return value if isinstance(value, str) else ""


def number(data: Mapping[str, Any], name: str) -> int:
    value = data.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
