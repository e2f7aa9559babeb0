"""What the gateway says, as updates: text that is never lost or said twice, and nothing that makes it fail."""

import json
from typing import Any

import pytest
from acp.schema import AgentMessageChunk, TextContentBlock, ToolCallProgress
from hypothesis import given
from hypothesis import strategies as st

from betcode.agents.openclaw import tools
from betcode.agents.openclaw.frames import Event, GatewayAnswer, Unreadable, decode
from betcode.agents.openclaw.history import read_history
from betcode.agents.openclaw.translation import Ended, News, RunUpdate, Translation, Used

KEY = "agent:main:x"
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
_FIELDS = ("message", "request", "approval", "state", "seq", "ts", "messageSeq", "id", "usage", "content")
_INNER = ("phase", "toolCallId", "name", "args", "result", "text", "delta", "itemId", "kind", "progressText", "role")
_STREAMS = st.sampled_from(["assistant", "tool", "item", "lifecycle", "thinking", "usage", "plan"])
_PHASES = st.sampled_from(["start", "update", "result", "end", "error"])
_ODD = st.fixed_dictionaries(
    {"stream": _STREAMS, "runId": st.just("r") | _JSON, "sessionKey": st.just(KEY)},
    optional={
        "data": st.fixed_dictionaries({"phase": _PHASES}, optional=dict.fromkeys(_INNER[1:], _JSON)) | _JSON,
        **dict.fromkeys(_FIELDS, _JSON),
    },
)
_NAMES = st.sampled_from(["agent", "chat", "session.message", "session.approval", "exec.approval.requested", "tick"])


def _agent(stream: str, run_id: str = "r", **data: Any) -> Event:
    return Event("agent", {"runId": run_id, "stream": stream, "sessionKey": KEY, "ts": 1, "data": data})


def _text(news: list[News]) -> str:
    chunks = [
        each.update for each in news if isinstance(each, RunUpdate) and isinstance(each.update, AgentMessageChunk)
    ]
    return "".join(chunk.content.text for chunk in chunks if isinstance(chunk.content, TextContentBlock))


@given(st.lists(st.tuples(_NAMES, _ODD), max_size=6))
def test_whatever_a_gateway_says_it_is_translated_or_left_out(said: list[tuple[str, dict[str, Any]]]) -> None:
    translation = Translation(KEY, "/work")
    for name, payload in said:
        for news in translation.hear(Event(name, payload)):
            if isinstance(news, RunUpdate):
                json.dumps(news.update.model_dump(mode="json", by_alias=True))


@given(_JSON)
def test_whatever_is_in_a_history_it_is_read(told: Any) -> None:
    history = read_history({"messages": [told, {"role": "assistant", "content": told}], "sessionInfo": told})
    translation = Translation(KEY, "/work")
    for run_id, entry in history.behind(-1):
        translation.recall(entry, run_id)


@given(st.text() | st.binary())
def test_whatever_frame_comes_it_is_a_value(frame: str | bytes) -> None:
    assert isinstance(decode(frame), GatewayAnswer | Event | Unreadable)


@given(st.text(min_size=1, max_size=40), st.sets(st.integers(0, 39)))
def test_text_is_whole_whichever_deltas_are_dropped(text: str, dropped: set[int]) -> None:
    translation = Translation(KEY, "/work")
    news: list[News] = []
    for end in range(1, len(text) + 1):
        if end - 1 not in dropped:
            event = _agent("assistant", text=text[:end], delta=text[end - 1], itemId="i")
            news += translation.hear(event)
    settled = _agent("lifecycle", phase="end", executionSettled=True, terminalReply={"text": text})
    news += translation.hear(settled)
    assert _text(news) == text
    assert [each.stop_reason for each in news if isinstance(each, Ended)] == ["end_turn"]
    assert translation.hear(_agent("assistant", text="late", delta="late", itemId="j")) == []


def test_what_other_sessions_say_is_not_heard() -> None:
    translation = Translation(KEY, "/work")
    event = _agent("assistant", text="x", delta="x", itemId="i")
    assert translation.hear(Event("agent", event.payload | {"sessionKey": "another"})) == []
    asked = {"id": "a", "request": {"sessionKey": "another", "command": "ls"}}
    assert translation.hear(Event("exec.approval.requested", asked)) == []
    translation.hear(Event("session.approval", {"sessionKey": KEY, "phase": "pending", "approval": {"id": "a"}}))
    assert len(translation.hear(Event("exec.approval.requested", asked))) == 1  # of a session that this one started


def test_an_answer_that_came_without_any_run_is_shown() -> None:
    message = {"role": "assistant", "content": [{"type": "text", "text": "Status: fine."}]}
    final = {"runId": "r", "sessionKey": KEY, "state": "final", "message": message}
    news = Translation(KEY, "/work").hear(Event("chat", final))
    assert _text(news) == "Status: fine."


def test_what_one_call_took_is_told_once() -> None:
    translation = Translation(KEY, "/work")
    usage = {"input": 800, "output": 50, "cacheRead": 200, "cacheWrite": 0, "cost": {"total": 0.00092}}
    entry = {"role": "assistant", "content": [], "usage": usage, "model": "m", "__openclaw": {"runId": "r"}}
    stored = Event("session.message", {"sessionKey": KEY, "message": entry, "messageSeq": 4, "contextTokens": 1000})
    told = [each.usage for each in translation.hear(stored) + translation.hear(stored) if isinstance(each, Used)]
    assert [(each["contextTokens"], each["contextSize"], each["costUsd"]) for each in told] == [(1000, 1000, 0.00092)]


def test_a_long_output_keeps_its_beginning_and_its_end() -> None:
    result = {"content": [{"type": "text", "text": "a" * tools.OUTPUT_LIMIT + "b" * tools.OUTPUT_LIMIT}]}
    ended = tools.ended("c", result, is_error=False)
    assert isinstance(ended, ToolCallProgress)
    said = json.dumps(ended.model_dump(mode="json", by_alias=True, exclude_none=True))
    assert len(said) < tools.OUTPUT_LIMIT + 1000
    assert "aaa" in said
    assert "bbb" in said


@pytest.mark.parametrize("cost", ["1e999", "NaN", "-1", '"x"', "1" + "0" * 400])
def test_a_price_that_is_none_is_left_out(cost: str) -> None:
    text = f'{{"role": "assistant", "usage": {{"input": 5, "cost": {{"total": {cost}}}}}}}'
    used = [news for news in Translation("k", "/p").recall(json.loads(text), "r") if isinstance(news, Used)]
    assert [(each.usage["inputTokens"], each.usage.get("costUsd")) for each in used] == [(5, None)]
