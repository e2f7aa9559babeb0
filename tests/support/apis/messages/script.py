"""What the stand-in for the model answers: steps of a script, and how a request finds its step.

A script is a list of steps. The newest user text that holds a directive `[[fake:NAME]]` selects script NAME, and the
step is the number of assistant messages behind it. Nothing else is remembered, so it holds across resumes, retries,
subagents and conversations side by side. Text inside tool results is never looked at.
"""

import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Json = Mapping[str, Any]

_DIRECTIVE = re.compile(r"\[\[fake:([A-Za-z0-9_.-]+)\]\]")
_SUMMARY_PROMPT = "Your task is to create a detailed summary"


@dataclass(frozen=True, slots=True)
class Text:
    text: str


@dataclass(frozen=True, slots=True)
class Thinking:
    thinking: str


@dataclass(frozen=True, slots=True)
class ToolUse:
    name: str
    input: Json


@dataclass(frozen=True, slots=True)
class Reply:
    """A message, streamed in pieces."""

    blocks: tuple[Text | Thinking | ToolUse, ...]
    stop_reason: str = ""
    chunk_characters: int = 12
    chunk_delay_s: float = 0.0
    first_delay_s: float = 0.0
    drop_after_chunks: int | None = None  # cut the connection in the middle of the stream
    gate_after_chunks: int = 0  # where to wait for `gate`
    gate: threading.Event | None = field(default=None, compare=False)
    input_tokens: int = 100
    cache_read_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Failure:
    """An HTTP error, `times` times (None: always), then `then`."""

    status: int
    kind: str = "api_error"
    message: str = "scripted error"
    times: int | None = None
    then: Reply | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Hang:
    """Headers, and then nothing until the client gives up or the server is closed."""


Step = Reply | Failure | Hang
Scripts = Mapping[str, Sequence[Step]]


def say(text: str, **how: Any) -> Reply:
    return Reply((Text(text),), **how)


def use(name: str, tool_input: Json, *, text: str = "", **how: Any) -> Reply:
    """Call a tool, after some words."""
    words = (Text(text),) if text else ()
    return Reply((*words, ToolUse(name, tool_input)), **how)


def bash(command: str, description: str = "Do it", **tool_input: Any) -> Reply:
    return use("Bash", {"command": command, "description": description, **tool_input}, text="I will run a command.")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a conversation stands: its script ("" if it has none) and the step in it."""

    script: str
    step: int


def place_of(messages: Sequence[Json]) -> Place:
    """The script and step that a request's messages ask for."""
    tail = [message for message in _since_last_answer(messages) if message.get("role") == "user"]
    if not tail or any(_SUMMARY_PROMPT in text for text in texts_of(tail[-1])):
        return Place("", 0)
    if not any(_has_tool_result(message) or _directives(message) for message in tail):
        return Place("", 0)
    step = 0
    for message in reversed(messages):
        if message.get("role") == "assistant":
            step += 1
        elif names := _directives(message):
            return Place(names[-1], step)
    return Place("", 0)


def step_of(scripts: Scripts, place: Place) -> Step:
    """The step at that place; a conversation that nobody scripted gets a harmless text."""
    steps = scripts.get(place.script)
    if steps is None:
        return say("<summary>Nothing is pending.</summary>" if not place.script else f"(no script {place.script})")
    if place.step >= len(steps):
        return say(f"(script {place.script} has no step {place.step})")
    return steps[place.step]


def _since_last_answer(messages: Sequence[Json]) -> list[Json]:
    tail: list[Json] = []
    for message in reversed(messages):
        if message.get("role") == "assistant":
            break
        tail.append(message)
    return tail[::-1]


def _directives(message: Json) -> list[str]:
    if message.get("role") != "user":
        return []
    return [name for text in texts_of(message) for name in _DIRECTIVE.findall(text)]


def texts_of(message: Json) -> Iterator[str]:
    content = message.get("content")
    if isinstance(content, str):
        yield content
    else:
        yield from (block.get("text", "") for block in content or () if block.get("type") == "text")


def _has_tool_result(message: Json) -> bool:
    content = message.get("content")
    return isinstance(content, list) and any(block.get("type") == "tool_result" for block in content)
