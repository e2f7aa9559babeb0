"""Every recorded answer of an OpenAI-compatible API, read through the real package: what the two wires make of it."""

import json
from pathlib import Path
from typing import Any

import msgspec
import openai
import pytest

from betcode.agents.openai.history import Shown
from betcode.agents.openai.records import Call, ContentPart, ModelAnswer, ToolOutput, UserMessage
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

GOLDEN = Path(__file__).parent / "golden" / "openai"
ALL = sorted(RECORDINGS.glob("*.jsonl"))
TOOL = Tool("bash", "Run a shell command in the project", {"type": "object", "properties": {}})

pytestmark = pytest.mark.anyio


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


@pytest.mark.parametrize("path", ALL, ids=lambda path: path.stem)
async def test_a_recording_is_understood_as_written_down(path: Path) -> None:
    exchanges = exchanges_of(path)
    with playback(exchanges) as (base_url, _):
        wire = wire_of(exchanges[0], base_url)
        said = [await heard(wire, [UserMessage("m", (ContentPart("Work"),))]) for _ in exchanges]
    assert said == json.loads((GOLDEN / f"{path.stem}.json").read_text())


def test_there_is_a_golden_file_for_each_recording_and_no_other() -> None:
    assert {path.stem for path in GOLDEN.glob("*.json")} == {path.stem for path in ALL}
    assert len(ALL) >= 12


@pytest.mark.parametrize("name", ["responses-tool-loop", "chat-tool-loop", "responses-denied"])
async def test_messages_of_the_model_are_sent_back_unchanged(name: str) -> None:
    """The recorded client sent each answer back as it had come: so do we, with an output for every call."""
    exchanges = exchanges_of(RECORDINGS / f"{name}.jsonl")
    with playback(exchanges) as (base_url, bodies):
        wire = wire_of(exchanges[0], base_url)
        shown: list[Shown] = [UserMessage("m", (ContentPart(_prompt(exchanges[0])),))]
        for exchange in exchanges:
            said = await heard(wire, shown)
            answer = msgspec.convert(said[-1]["answer"], ModelAnswer)
            shown.append(answer)
            shown.extend(_outputs(answer.calls, exchanges[-1].body))
            assert _talk(bodies[-1]) == _talk(exchange.body)


def _prompt(exchange: Exchange) -> str:
    first = next(item for item in _talk(exchange.body) if item.get("role") == "user")
    return str(first["content"])


def _outputs(calls: tuple[Call, ...], last: dict[str, Any]) -> list[ToolOutput]:
    """What the recorded tools gave back, from the last request, which has everything."""
    given = {item.get("call_id") or item.get("tool_call_id"): item for item in _talk(last)}
    texts = {
        call_id: item.get("output") or item.get("content", "") for call_id, item in given.items() if "name" not in item
    }
    return [ToolOutput(call.call_id, texts[call.call_id]) for call in calls if call.call_id in texts]


def _talk(body: dict[str, Any]) -> list[dict[str, Any]]:
    """The conversation in a request, with the one form of a user's text that both clients mean the same by."""
    items = body.get("messages") or body["input"]
    return [{**item, "content": _text(item["content"])} if item.get("role") == "user" else item for item in items]


def _text(content: Any) -> str:
    return content if isinstance(content, str) else "".join(part["text"] for part in content)
