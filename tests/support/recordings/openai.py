"""Recorded answers of OpenAI-compatible APIs, and what the two wires make of them."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
import openai

from betcode.agents.openai.history import Shown
from betcode.agents.openai.records import ContentPart, UserMessage
from betcode.agents.openai.wires import (
    Finished,
    ModelFailed,
    ModelRequest,
    StreamCut,
    TextDelta,
    ThoughtDelta,
    Tool,
    Wire,
)
from betcode.agents.openai.wires.chat import ChatWire
from betcode.agents.openai.wires.responses import ResponsesWire
from support.apis.openai.playback import RECORDINGS, Exchange, exchanges_of, playback
from support.paths import CONTRACT
from support.recordings.outline import count_equal

GOLDEN = CONTRACT / "golden" / "openai"
TOOL = Tool("bash", "Run a shell command in the project", {"type": "object", "properties": {}})


def recordings() -> list[Path]:
    return sorted(RECORDINGS.glob("*.jsonl"))


async def heard(wire: Wire, shown: list[Shown]) -> list[dict[str, Any]]:
    """The parts of one answer, in a form that can be written down."""
    parts: list[dict[str, Any]] = []
    try:
        async for part in wire.ask(ModelRequest("fake-model", "You are a coding agent.", shown, [TOOL])):
            match part:
                case TextDelta(text):
                    parts.append({"text": text})
                case ThoughtDelta(text):
                    parts.append({"thought": text})
                case Finished(answer, reason, usage):
                    counted = None if usage is None else [usage.input_tokens, usage.output_tokens, usage.cached_tokens]
                    parts.append(
                        {"answer": json.loads(msgspec.json.encode(answer)), "reason": reason, "usage": counted}
                    )
    except (openai.APIError, StreamCut, ModelFailed) as error:
        parts.append({"error": type(error).__name__, "message": str(error), "code": getattr(error, "code", None)})
    return parts


def wire_of(exchange: Exchange, base_url: str) -> Wire:
    client = openai.AsyncOpenAI(api_key="none", base_url=base_url, max_retries=0)
    return ChatWire(client) if exchange.path.endswith("/chat/completions") else ResponsesWire(client)


async def answers_of(path: Path) -> list[list[dict[str, Any]]]:
    """The answers of a recording, each to the same message."""
    exchanges = exchanges_of(path)
    with playback(exchanges) as (base_url, _):
        wire = wire_of(exchanges[0], base_url)
        return [await heard(wire, [UserMessage("m", (ContentPart("Work"),))]) for _ in exchanges]


def outline_of(answers: Iterable[Iterable[dict[str, Any]]]) -> list[str]:
    """One entry per part of all answers; equal neighbours are counted."""
    return count_equal(_entry(part) for answer in answers for part in answer)


def _entry(part: dict[str, Any]) -> str:
    if "answer" in part:
        calls = [call["name"] for call in part["answer"].get("calls", [])]
        return " ".join(filter(None, ("answer", part["reason"], *calls)))
    if "error" in part:
        return " ".join(filter(None, ("error", part["error"], part["code"])))
    return "text" if "text" in part else "thought"
