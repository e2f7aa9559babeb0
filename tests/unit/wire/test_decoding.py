"""One line is a frame we know, one we do not know, or one that cannot be read; never an exception."""

import json
import time
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from betcode.wire import Malformed, Unknown, decode
from betcode.wire.frames import Assistant, ControlRequest, Init, Result, Status, StreamEvent, User
from support.deep_json import UNREADABLY_DEEP

FRAMES: list[dict[str, Any]] = [
    {"type": "result", "subtype": "success", "usage": {"input_tokens": 3}, "total_cost_usd": 0.5, "result": "done"},
    {"type": "assistant", "message": {"id": "m", "content": [{"type": "text", "text": "hi"}]}},
    {"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": "t", "content": "out"}]}},
    {"type": "control_request", "request_id": "r", "request": {"subtype": "can_use_tool", "input": {"a": 1}}},
    {"type": "system", "subtype": "init", "session_id": "s", "tools": ["Bash"], "permissionMode": "plan"},
    {"type": "stream_event", "event": {"type": "content_block_delta", "delta": {"type": "text_delta", "text": "x"}}},
]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.behaviour("wire.stdout.types")
def test_the_frames_of_the_agent_are_known() -> None:
    kinds = [type(decode(json.dumps(frame).encode())) for frame in FRAMES]
    assert kinds == [Result, Assistant, User, ControlRequest, Init, StreamEvent]


def test_the_order_of_keys_does_not_matter() -> None:
    frame = decode(b'{"subtype":"success","total_cost_usd":1,"usage":{},"type":"result"}')
    assert isinstance(frame, Result)
    assert frame.total_cost_usd == 1


def test_unknown_kinds_and_fields_are_passed_over() -> None:
    assert decode(b'{"type":"brand_new","x":1}') == Unknown("brand_new", b'{"type":"brand_new","x":1}')
    assert isinstance(decode(b'{"type":"system","subtype":"brand_new"}'), Unknown)
    assert isinstance(decode(b"[1,2]"), Unknown)
    assert isinstance(decode(b"  "), Unknown)
    frame = decode(b'{"type":"system","subtype":"status","status":"requesting","new":{"deep":[1]}}')
    assert isinstance(frame, Status)


@pytest.mark.behaviour("wire.stdout.invalid-json-skipped")
@pytest.mark.parametrize("line", [b"hello", b'{"type":"result"', b'{"type":', b"\xff\xfe", b'{"type":"stream_event"}'])
def test_what_cannot_be_read_says_why(line: bytes) -> None:
    frame = decode(line)
    assert isinstance(frame, Malformed)
    assert frame.raw == line
    assert frame.reason


@pytest.mark.parametrize(
    "line",
    [
        b'{"type":"result","subtype":"success","result":"\\ud800 half"}',
        b'{"type":"result","subtype":"success","result":"\xff\xfe"}',
        b'{"type":"result","subtype":"success","total_cost_usd":NaN}',
        b'{"type":"result","subtype":"success","total_cost_usd":1e999}',
        b'{"type":"result","subtype":"success","num_turns":' + b"9" * 5000 + b"}",
        b'{"type":"result","subtype":"success","usage":"none","duration_ms":"soon","errors":{"a":1}}',
        b'{"type":"result","subtype":"success","modelUsage":{"m":{"costUSD":"much"}}}',
        b'{"type":"result","subtype":"success","permission_denials":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"type":"result","subtype":"success","usage":7,"result":"\\udfff"}',
    ],
)
def test_a_result_is_read_whatever_is_wrong_with_its_fields(line: bytes) -> None:
    frame = decode(line)
    assert isinstance(frame, Result)
    assert frame.subtype == "success"
    assert "\ud800" not in frame.result


def test_half_a_surrogate_pair_becomes_a_replacement_character_and_a_pair_stays() -> None:
    frame = decode(b'{"type":"result","result":"a\\ud83d b\\ud83d\\ude00 c\\\\ud83d"}')
    assert isinstance(frame, Result)
    assert frame.result == "a\ufffd b\U0001f600 c\\ud83d"


def asking(own_input: bytes) -> bytes:
    return (
        b'{"type":"control_request","request_id":"r","request":{"subtype":"can_use_tool","input":' + own_input + b"}}"
    )


def test_a_tools_input_keeps_the_agents_own_text() -> None:
    own = b'{"n": 10, "big": 123456789012345678901234567890, "f": 1.0,  "odd": "\\u0041"}'
    frame = decode(
        b'{"type":"control_request","request_id":"r","request":{"subtype":"can_use_tool","input":' + own + b"}}"
    )
    assert isinstance(frame, ControlRequest)
    assert bytes(frame.request.input) == own


def test_a_tools_input_keeps_its_text_even_with_half_a_surrogate_pair() -> None:
    own = b'{"text": "\\ud800", "n": 10}'
    asked = decode(
        b'{"type":"control_request","request_id":"r","request":{"subtype":"can_use_tool","input":' + own + b"}}"
    )
    assert isinstance(asked, ControlRequest)
    assert (bytes(asked.request.input), asked.request.is_exact) == (own, True)
    said = decode(
        b'{"type":"assistant","message":{"id":"m","content":[{"type":"tool_use","id":"t","input":' + own + b"}]}}"
    )
    assert isinstance(said, Assistant)
    assert not isinstance(said.message.content, str)
    assert bytes(said.message.content[0].input) == own


def test_an_input_that_had_to_be_changed_says_so() -> None:
    deep = UNREADABLY_DEEP.encode()
    frame = decode(
        b'{"type":"control_request","request_id":"r","request":{"subtype":"can_use_tool","input":' + deep + b"}}"
    )
    assert isinstance(frame, ControlRequest)
    assert not frame.request.is_exact


def test_one_wrong_part_of_a_result_costs_that_part_alone() -> None:
    frame = decode(
        b'{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":["odd",{"type":"text","text":"b"}]}]}}'
    )
    assert isinstance(frame, User)
    assert not isinstance(frame.message.content, str)
    content = frame.message.content[0].content
    assert isinstance(content, list)
    assert [part.text for part in content] == ["b"]


@given(st.binary(max_size=200))
def test_any_bytes_are_something(line: bytes) -> None:
    decode(line)


@given(st.sampled_from(FRAMES), st.data())
def test_any_value_in_any_field_is_something(frame: dict[str, Any], data: st.DataObject) -> None:
    frame = dict(frame)
    frame[data.draw(st.sampled_from(sorted(frame)))] = data.draw(JSON)
    decode(json.dumps(frame).encode())


def cost(work: Callable[[bytes], object], line: bytes) -> float:
    """Processor time, at best: what else the machine does is not counted."""
    took = []
    for _ in range(3):
        began = time.thread_time()
        work(line)
        took.append(time.thread_time() - began)
    return min(took)


def test_a_line_of_twenty_megabytes_costs_little_more_than_its_json() -> None:
    line = json.dumps({**FRAMES[2], "tool_use_result": {"stdout": "x" * 20_000_000}}).encode()
    assert isinstance(decode(line), User)
    assert cost(decode, line) < 10 * cost(json.loads, line)
