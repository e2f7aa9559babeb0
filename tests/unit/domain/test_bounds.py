"""An event is at most 256 KiB; what was cut is kept whole."""

import hashlib

from hypothesis import given
from hypothesis import strategies as st

from betcode.domain.events.display import struct_of
from betcode.domain.events.size_limit import LIMIT_BYTES, bound
from betcode.v1 import agent_pb2 as v1

TEXT = st.builds(lambda piece, times: piece * times, st.text(min_size=1, max_size=8), st.integers(0, 60_000))


def test_a_small_event_is_the_same_event() -> None:
    event = v1.AgentEvent(text_delta=v1.TextDelta(text="hello"))
    same, blobs = bound(event)
    assert same is event
    assert blobs == ()


@given(TEXT, TEXT, st.lists(TEXT, max_size=4))
def test_any_event_fits_and_nothing_of_it_is_lost(output: str, message: str, details: list[str]) -> None:
    events = [
        v1.AgentEvent(tool_call_result=v1.ToolCallResult(tool_id="t", output=output)),
        v1.AgentEvent(error=v1.ErrorEvent(message=message, details={str(n): text for n, text in enumerate(details)})),
        v1.AgentEvent(tool_call_start=v1.ToolCallStart(description=message, input_json=output)),
    ]
    for event in events:
        short, blobs = bound(event)
        short.sequence = 2**64 - 1
        assert short.ByteSize() <= LIMIT_BYTES
        assert v1.AgentEvent.FromString(short.SerializeToString()) == short
        assert [cut.sha256 for cut in short.cuts] == [blob.sha256 for blob in blobs]
        for cut, blob in zip(short.cuts, blobs, strict=True):
            assert (cut.size_bytes, cut.sha256) == (len(blob.data), hashlib.sha256(blob.data).hexdigest())


def test_a_long_output_is_cut_between_characters_and_says_so() -> None:
    output = "é" * 300_000
    event = v1.AgentEvent(tool_call_result=v1.ToolCallResult(tool_id="t", output=output))
    short, [blob] = bound(event)
    [cut] = short.cuts
    assert cut.field == "tool_call_result.output"
    assert blob.data.decode() == output
    shown, _, marker = short.tool_call_result.output.partition("\n… [")
    assert output.startswith(shown)
    assert len(shown) > 1000
    assert marker == f"600000 bytes in all, sha256 {blob.sha256}]"
    assert event.tool_call_result.output == output  # the event that came in is not touched


def test_twenty_megabytes_of_input_are_bounded() -> None:
    own = '{"command": "' + "x" * 20_000_000 + '"}'
    event = v1.AgentEvent(
        permission_request=v1.PermissionRequest(request_id="r", input_json=own, input=struct_of(own), description="d")
    )
    short, [blob] = bound(event)
    assert blob.data == own.encode()
    assert short.permission_request.request_id == "r"
    assert short.ByteSize() <= LIMIT_BYTES


def test_a_struct_too_big_to_send_is_left_out_and_the_text_beside_it_stays() -> None:
    event = v1.AgentEvent(tool_call_start=v1.ToolCallStart(tool_id="t", input_json='{"a": 1}'))
    event.tool_call_start.input.fields["a"].string_value = "x" * 400_000
    short, _ = bound(event)
    assert short.ByteSize() <= LIMIT_BYTES
    assert short.tool_call_start.input_json == '{"a": 1}'


def test_a_list_of_very_many_small_values_loses_its_end_and_the_whole_event_is_kept() -> None:
    items = [v1.TodoItem(id=str(n), subject="a task") for n in range(40_000)]
    event = v1.AgentEvent(todo_update=v1.TodoUpdate(items=items))
    short, [blob] = bound(event)
    assert short.ByteSize() <= LIMIT_BYTES
    assert 0 < len(short.todo_update.items) < 40_000
    assert v1.AgentEvent.FromString(blob.data) == event


def test_a_map_of_very_many_entries_fits_too() -> None:
    details = {f"name {n}": "value" for n in range(40_000)}
    short, blobs = bound(v1.AgentEvent(notice=v1.Notice(message="m", details=details)))
    assert short.ByteSize() <= LIMIT_BYTES
    assert blobs
