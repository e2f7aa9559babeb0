"""The agent's slash commands: described at the handshake, named again with every turn."""

import hashlib
import json
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import TypeVar

import msgspec
from msgspec import Raw, Struct, field

from betcode.domain.values.text import shortened, valid
from betcode.providers.claude.event_builder import ClaudeEventBuilder
from betcode.v1 import agent_pb2 as v1

_MOST = 500
_LONGEST_NAME = 100
_LONGEST_DESCRIPTION = 300
_ROOM_BYTES = 48 * 1024  # of one event
_INTERNAL = "__"  # how names begin that no person types


class _Described(Struct, gc=False):
    name: str = ""
    description: str = ""
    argument_hint: str = field(default="", name="argumentHint")


T = TypeVar("T")
_names = msgspec.json.Decoder(list[str])
_descriptions = msgspec.json.Decoder(list[_Described])


def greeting(request_id: str) -> bytes:
    """The line that has the agent say what it can do; it answers beside everything else."""
    request = {"subtype": "initialize"}
    return json.dumps({"type": "control_request", "request_id": request_id, "request": request}).encode() + b"\n"


def on_described(said: Raw, builder: ClaudeEventBuilder) -> None:
    """The agent has answered to a greeting; what is new in it is told at once."""
    found = [_made(each) for each in _read(_descriptions, said) if _is_typed(each.name)][:_MOST]
    told = _digest(part for each in found for part in (each.name, each.description, each.argument_hint))
    if not found:
        return
    builder.commands.clear()
    builder.commands.update((each.name, each) for each in found)
    if told == builder.state.described:
        return
    builder.state.described, builder.state.commands = told, _digest(builder.commands)
    info = builder.new_event().session_info
    info.session_id = builder.session.session_id
    info.model = builder.state.model or builder.session.model
    info.working_directory = builder.session.working_directory
    info.worktree_id = builder.session.worktree_id
    info.provider = builder.session.provider
    info.is_compacted = builder.state.compacted
    info.context_usage_percent = builder.state.context_percent
    info.commands.extend(_fitting(found))


def newly_named(said: Raw, builder: ClaudeEventBuilder) -> list[v1.AgentCommand]:
    """All that are named at the beginning of a turn, with what is known of them, if the names are others than before.

    They may be: skills are found and servers connect while it works.
    """
    names = [name for name in _read(_names, said) if _is_typed(name)][:_MOST]
    told = _digest(names)
    if not names or told == builder.state.commands:
        return []
    builder.state.commands = told
    return _fitting([builder.commands.get(name) or v1.AgentCommand(name=name) for name in names])


def _made(said: _Described) -> v1.AgentCommand:
    return v1.AgentCommand(
        name=said.name,
        description=_line(said.description, _LONGEST_DESCRIPTION),
        argument_hint=_line(said.argument_hint, _LONGEST_NAME),
    )


def _fitting(found: Sequence[v1.AgentCommand]) -> list[v1.AgentCommand]:
    """As many as one event is to have."""
    sizes = accumulate(each.ByteSize() for each in found)
    return [each for each, size in zip(found, sizes, strict=True) if size <= _ROOM_BYTES]


def _read(decoder: msgspec.json.Decoder[list[T]], said: Raw) -> Sequence[T]:
    """Empty where it is something else than was expected."""
    try:
        return decoder.decode(said)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return ()


def _digest(parts: Iterable[str]) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def _is_typed(name: str) -> bool:
    fits = 0 < len(name) <= _LONGEST_NAME and not name.startswith(_INTERNAL)
    return fits and name.isprintable() and " " not in name


def _line(text: str, limit: int) -> str:
    return shortened(" ".join(valid(text[: 4 * limit]).split()), limit)
