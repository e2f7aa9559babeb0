"""Blocks of a conversation in a form that two of them can be compared by, and events to make them of."""

from collections.abc import Iterable, Sequence
from dataclasses import fields
from itertools import pairwise
from typing import Any

from betcode.tui.model.blocks import AgentText, Block, ToolCallBlock
from betcode.v1 import agent_pb2 as v1

_NOT_COMPARED = frozenset({"revision", "parent", "pieces", "children"})


def dump(blocks: Iterable[Block]) -> list[dict[str, Any]]:
    """All that is to be seen of them, and where each stands."""
    return [_one(block) for block in blocks]


def _one(block: Block) -> dict[str, Any]:
    shown: dict[str, Any] = {"kind": type(block).__name__}
    shown |= {part.name: getattr(block, part.name) for part in fields(block) if part.name not in _NOT_COMPARED}
    if isinstance(block, AgentText):
        shown["text"] = "".join(block.pieces)
    if isinstance(block, ToolCallBlock):
        assert all(child.parent is block for child in block.children)
        shown["children"] = dump(block.children)
    return shown


def numbered(events: Iterable[v1.AgentEvent], first: int = 1) -> list[v1.AgentEvent]:
    """Copies that follow one another as in a log."""
    made: list[v1.AgentEvent] = []
    for number, event in enumerate(events, first):
        copy = v1.AgentEvent()
        copy.CopyFrom(event)
        copy.sequence = number
        copy.timestamp.seconds = 1_794_711_060 + number
        made.append(copy)
    return made


def cut(events: Sequence[v1.AgentEvent], places: Iterable[int]) -> list[list[v1.AgentEvent]]:
    """The events in pages that begin at these places."""
    bounds = [0, *sorted({place % (len(events) + 1) for place in places}), len(events)]
    return [list(events[start:end]) for start, end in pairwise(bounds)]
