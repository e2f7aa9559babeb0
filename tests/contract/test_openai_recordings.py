"""Every recorded answer of an OpenAI-compatible API, read through the real package: what the two wires make of it."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from betcode.agents.openai.history import Shown
from betcode.agents.openai.records import Call, ContentPart, ModelAnswer, ToolOutput, UserMessage
from support.apis.openai.playback import RECORDINGS, Exchange, exchanges_of, playback
from support.recordings.claude import golden_files
from support.recordings.openai import GOLDEN, answers_of, heard, outline_of, recordings, wire_of
from support.recordings.outline import read_outlines

ALL = pytest.mark.parametrize("path", recordings(), ids=lambda path: path.stem)

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("path", golden_files(GOLDEN), ids=lambda path: path.stem)
async def test_a_recording_gives_the_answers_of_its_golden_file(path: Path) -> None:
    assert await answers_of(RECORDINGS / f"{path.stem}.jsonl") == json.loads(path.read_text())


@ALL
async def test_a_recording_has_its_outline(path: Path) -> None:
    assert outline_of(await answers_of(path)) == read_outlines(GOLDEN)[path.stem]


def test_there_is_an_outline_for_each_recording_and_no_other() -> None:
    assert read_outlines(GOLDEN).keys() == {path.stem for path in recordings()}
    assert len(recordings()) >= 12


@ALL
async def test_every_answer_ends_once_and_has_the_text_of_its_deltas(path: Path) -> None:
    for *deltas, last in await answers_of(path):
        assert all(part.keys() <= {"text", "thought"} for part in deltas)
        if "error" in last:
            assert last["message"] or last["error"] == "StreamCut"  # which has nothing to say
            continue
        assert last["answer"].get("text", "") == "".join(part.get("text", "") for part in deltas)
        assert last["usage"] is None or min(last["usage"]) >= 0
        assert all(json.loads(call["arguments"]) for call in last["answer"].get("calls", []))


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
