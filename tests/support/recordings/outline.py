"""A recording's events as a short outline: the kinds in order, with the fields that tell one outcome from another.

The outlines of all recordings of a provider are one file. A new field of an event changes none of them; an event that
is lost, added, moved or has another outcome does.
"""

import functools
import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from pathlib import Path

from betcode.v1 import agent_pb2 as v1

FILE = "outlines.json"


def outline(events: Iterable[v1.AgentEvent]) -> list[str]:
    """One entry per event; equal neighbours are counted."""
    return count_equal(map(_entry, events))


def count_equal(entries: Iterable[str]) -> list[str]:
    """The entries, with equal neighbours as one: `text_delta x3`."""
    counted = ((entry, len(list(same))) for entry, same in groupby(entries))
    return [entry if count == 1 else f"{entry} x{count}" for entry, count in counted]


@functools.cache
def read_outlines(directory: Path) -> Mapping[str, Sequence[str]]:
    """The stored outlines by the name of their recording."""
    file = directory / FILE
    stored: Mapping[str, Sequence[str]] = json.loads(file.read_text()) if file.exists() else {}
    return stored


def _entry(event: v1.AgentEvent) -> str:
    kind = event.WhichOneof("event") or "none"
    return f"{kind} {facts}" if (facts := _facts(kind, event)) else kind


def _facts(kind: str, event: v1.AgentEvent) -> str:
    """What tells two events of this kind apart for a person who reads the conversation."""
    match kind:
        case "status_change":
            return v1.AgentStatus.Name(event.status_change.status)
        case "text_delta":
            return "settled" if event.text_delta.is_complete else ""
        case "thinking_delta":
            return "settled" if event.thinking_delta.is_complete else ""
        case "tool_call_start":
            return event.tool_call_start.tool_name
        case "tool_call_result":
            return "error" if event.tool_call_result.is_error else ""
        case "permission_request":
            return event.permission_request.tool_name
        case "permission_resolved":
            return event.permission_resolved.resolution
        case "message_state":
            return v1.MessageState.Name(event.message_state.state)
        case "turn_complete":
            return event.turn_complete.stop_reason
        case "notice":
            return v1.NoticeKind.Name(event.notice.kind)
        case "error":
            return event.error.code
        case _:
            return ""
