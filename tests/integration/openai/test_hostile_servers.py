"""Servers that answer with anything: the turn ends with a sentence, and the conversation goes on."""

import json
from pathlib import Path
from typing import Any

import pytest
from acp import RequestError

from betcode.agents.openai.model_call import AskingFailed, Model
from betcode.agents.openai.options import OpenAiOptions
from betcode.agents.openai.wires import Finished, ModelRequest
from betcode.wire.acp import extensions
from support.apis.openai.program import KEY, Conversation, conversation
from support.apis.openai.raw_server import RawApi, raw_api, sse, streamed
from support.apis.openai.script import Call, Step
from support.apis.openai.server import openai_api, script
from support.apis.openai.streams import chat, responses

pytestmark = pytest.mark.anyio

STEP, CALLS = Step("", 0, {"text": "Hi there"}), [Call("shell", '{"command":"true"}')]


async def trouble_in(talk: Conversation, message_id: str = "m1") -> dict[str, Any]:
    with pytest.raises(RequestError) as error:
        await talk.prompt("Hello", message_id)
    data: Any = error.value.data
    return dict(data[extensions.KEY])


async def asked(api: RawApi, wire: str, key: str = KEY) -> Finished:
    async def pause(*_: object) -> None:
        """Nobody is told."""

    model = Model(OpenAiOptions(Path("/nowhere"), api.base_url, wire, "m", "THE_KEY", key, waits_s=()))
    try:
        parts = [part async for part in model.ask(ModelRequest("m", "", (), ()), pause)]
    finally:
        await model.close()
    assert isinstance(parts[-1], Finished)
    return parts[-1]


def stream(wire: str) -> bytes:
    events = (chat if wire == "chat" else responses)("m", STEP, CALLS, 1)
    lines = [json.dumps(event) for event in events if isinstance(event, dict)]
    return sse(*lines) + (sse("[DONE]") if wire == "chat" else b"")


@pytest.mark.parametrize("wire", ["chat", "responses"])
async def test_a_stream_that_is_cut_is_an_error_and_no_call_of_it_is_made(wire: str) -> None:
    body = stream(wire)
    # Chat has said why it ends before its last two events, which nothing depends on.
    needed = body.rindex(b'finish_reason": "tool_calls') + 40 if wire == "chat" else len(body)
    with raw_api(b"") as api:
        for cut in (*range(0, needed, 397), needed - 2, needed - 1):
            if wire == "chat" and body[:cut].count(b"\n\n") == body.count(b"\n\n") - 2:
                continue
            api.answers = [streamed(body[:cut])]
            with pytest.raises(AskingFailed, match="is incomplete"):
                await asked(api, wire)
        api.answers = [streamed(body)]
        assert len((await asked(api, wire)).answer.calls) == 1


@pytest.mark.parametrize(
    "answer",
    [
        sse("{not JSON"),
        sse("null"),
        sse("[" * 100_000),
        sse('{"choices":["x"]}'),
        sse('{"choices":[{"delta":null}]}'),
        sse('{"choices":[{"delta":{"content":5},"finish_reason":"stop"}]}'),
        sse('{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":5,"arguments":{"a":1}}}]}}]}'),
        sse('{"type":"response.completed"}'),
        sse('{"type":"response.completed","response":{"output":[5,{"type":"message"}]}}'),
        sse('{"type":"response.output_text.delta"}'),
    ],
)
async def test_an_answer_that_makes_no_sense_ends_the_turn_with_a_sentence(tmp_path: Path, answer: bytes) -> None:
    wire = "responses" if b"response." in answer else "chat"
    with raw_api(streamed(answer)) as api:
        async with conversation(tmp_path, api.base_url, wire, waits_s=()) as talk:
            trouble = await trouble_in(talk)
    assert "cannot be parsed" in trouble["message"]
    kept = (tmp_path / "transcripts" / "c0ffee.jsonl").read_text().splitlines()
    assert [json.loads(line)["type"] for line in kept] == ["message", "ended"]


async def test_calls_with_bad_numbers_are_separated_and_split_characters_joined(
    tmp_path: Path,
) -> None:
    calls = [{"index": 0, "id": each, "function": {"name": "glob", "arguments": '{"pattern":"*"}'}} for each in "ab"]
    told = {"prompt_tokens": -5, "completion_tokens": "9", "prompt_tokens_details": 7}
    first = {"choices": [{"delta": {"tool_calls": calls}, "finish_reason": "tool_calls"}], "usage": told}
    halves = [{"choices": [{"delta": {"content": half}}]} for half in ("\ud83d", "\ude00")]
    end = {"choices": [{"delta": {}, "finish_reason": "stop"}]}
    with raw_api(
        streamed(sse(json.dumps(first))), streamed(sse(*(json.dumps(each) for each in (*halves, end))))
    ) as api:
        async with conversation(tmp_path, api.base_url, "chat") as talk:
            assert await talk.prompt("Hello") == "end_turn"
    assert [status for status, _ in talk.watcher.results] == ["completed", "completed"]
    assert len({each["toolCallId"] for each in talk.watcher.of("tool_call")}) == 2
    news = talk.watcher.news_of(extensions.USAGE)[0]
    assert (news["inputTokens"], news["outputTokens"], news["contextTokens"]) == (0, 0, 0)
    assert "\U0001f600" in (tmp_path / "transcripts" / "c0ffee.jsonl").read_text()


async def test_no_redirect_is_followed(tmp_path: Path) -> None:
    with raw_api(b"") as other:
        moved = f"HTTP/1.1 307 Moved\r\nlocation: {other.base_url}/x\r\ncontent-length: 0\r\n\r\n"
        with raw_api(moved.encode()) as api:
            async with conversation(tmp_path, api.base_url, "chat") as talk:
                trouble = await trouble_in(talk)
    assert "307" in trouble["message"]
    assert other.asked == []
    assert [each["authorization"] for each in api.asked] == [f"Bearer {KEY}"]


async def test_a_key_that_cannot_be_sent_is_in_no_sentence() -> None:
    with raw_api(b"") as api:
        for key in ("sk-secret\nwith a line", "sk-secret-\N{LATIN SMALL LETTER U WITH DIAERESIS}"):
            with pytest.raises(AskingFailed, match="cannot be sent") as failed:
                await asked(api, "chat", key)
            assert "secret" not in str(failed.value.trouble)
    assert api.asked == []


async def test_a_moment_that_no_calendar_has_is_not_waited_for(tmp_path: Path) -> None:
    limit = b"HTTP/1.1 429 Slow\r\nretry-after: Mon, 99 Jan 99999 99:99:99 GMT\r\ncontent-length: 0\r\n\r\n"
    with raw_api(limit) as api:
        async with conversation(tmp_path, api.base_url, "chat", waits_s=(0.01,)) as talk:
            assert (await trouble_in(talk))["kind"] == "rate_limit"
    assert len(api.asked) == 2


async def test_a_name_that_no_request_may_have_does_not_spoil_those_behind_it(tmp_path: Path) -> None:
    with openai_api() as api:
        async with conversation(tmp_path, api, "chat") as talk:
            await talk.prompt(script({"tools": [{"name": "functions.shell run\u00fc", "args": {}}]}, {"text": "So."}))
    sent = [call["function"]["name"] for call in api.requests[-1].body["messages"][-2]["tool_calls"]]
    assert sent == ["functions_shell_run_"]


@pytest.mark.parametrize(
    "delta", [{"content": "x" * 500_000}, {"tool_calls": [{"index": 0, "function": {"arguments": "x" * 500_000}}]}]
)
async def test_an_answer_without_an_end_is_ended(delta: dict[str, Any]) -> None:
    endless = streamed(sse(json.dumps({"choices": [{"delta": delta}]})) * 20)
    with raw_api(endless) as api, pytest.raises(AskingFailed, match="is too long"):
        await asked(api, "chat")
