"""Every recording of the real CLI, replayed: the events written down, and what must hold for all of them."""

import json
from pathlib import Path

import pytest

from betcode.domain.runs.journal_record import Record, RecordKind
from betcode.providers.claude.provider import ClaudeProvider
from betcode.v1 import agent_pb2 as v1
from betcode.wire import Malformed, decode
from support.recordings.claude import GOLDEN, SESSION, golden_files, read_back, recordings, records_of, replay
from support.recordings.outline import outline, read_outlines

PROVIDER = ClaudeProvider()
ALL = pytest.mark.parametrize("path", recordings(), ids=lambda path: path.stem)


@pytest.mark.parametrize("path", golden_files(GOLDEN), ids=lambda path: path.stem)
@pytest.mark.behaviour("wire.stdout.types", "wire.stdout.wrapped-stream-events", "events.text.delta")
def test_a_recording_gives_the_events_of_its_golden_file(path: Path) -> None:
    expected = [read_back(row) for row in json.loads(path.read_text())]
    [recording] = [each for each in recordings() if each.stem == path.stem]
    assert replay(recording) == expected


@ALL
@pytest.mark.behaviour("wire.stdout.types", "wire.stdout.wrapped-stream-events", "events.text.delta")
def test_a_recording_has_its_outline(path: Path) -> None:
    assert outline(replay(path)) == read_outlines(GOLDEN)[path.stem]


def test_there_is_an_outline_for_each_recording_and_no_other() -> None:
    assert read_outlines(GOLDEN).keys() == {path.stem for path in recordings()}
    assert len(recordings()) >= 165


@ALL
def test_every_line_of_the_agent_can_be_read(path: Path) -> None:
    lines = [record.data for record in records_of(path) if record.kind is RecordKind.OUT]
    assert [line for line in lines if isinstance(decode(line), Malformed)] == []


@ALL
@pytest.mark.behaviour("events.timestamp")
def test_an_event_has_the_time_of_its_record(path: Path) -> None:
    dialogue = PROVIDER.dialogue(SESSION, "")
    for record in records_of(path):
        assert {event.timestamp.ToNanoseconds() for event in dialogue.receive(record)} <= {record.wall_ns}


@ALL
@pytest.mark.behaviour("events.tool.start-from-assistant", "events.tool.start-from-block", "events.tool.result")
def test_a_tool_starts_once_before_its_prompt_and_ends_once(path: Path) -> None:
    started: set[str] = set()
    ended: set[str] = set()
    for event in replay(path):
        match event.WhichOneof("event"):
            case "tool_call_start":
                assert event.tool_call_start.tool_id not in started
                assert event.tool_call_start.tool_name
                assert json.loads(event.tool_call_start.input_json) is not None
                started.add(event.tool_call_start.tool_id)
            case "permission_request":
                assert event.permission_request.tool_use_id in started - ended
            case "tool_call_result":
                assert event.tool_call_result.tool_id in started - ended
                ended.add(event.tool_call_result.tool_id)
            case _:
                pass


@ALL
@pytest.mark.behaviour("events.text.final")
def test_settled_text_equals_the_joined_deltas_or_is_empty(path: Path) -> None:
    if "truncated_from" in path.read_text():
        return  # the recorder itself cut lines here
    said: dict[tuple[str, str, int], str] = {}
    for event in replay(path):
        kind = event.WhichOneof("event")
        if kind not in ("text_delta", "thinking_delta"):
            continue
        delta = event.text_delta if kind == "text_delta" else event.thinking_delta
        block = (kind, delta.message_id, delta.block)
        if not delta.is_complete:
            said[block] = said.get(block, "") + delta.text
        elif block in said:
            assert delta.text in (said.pop(block), "")


@ALL
@pytest.mark.behaviour("events.result", "events.order.end-of-turn", "events.status.idle", "events.status.thinking")
def test_a_turn_begins_with_thinking_and_ends_in_order(path: Path) -> None:
    kinds = [event.WhichOneof("event") for event in replay(path)]
    events = replay(path)
    for place, event in enumerate(events):
        if event.HasField("turn_complete"):
            assert kinds[place - 1] == "usage"
            after = events[place + 1 :]
            statuses = [one.status_change.status for one in after if one.HasField("status_change")]
            assert statuses[:1] in ([v1.IDLE], [v1.THINKING])  # thinking: a queued message goes on at once
    thinking = next((n for n, e in enumerate(events) if e.status_change.status == v1.THINKING), len(events))
    assert all(not event.HasField("text_delta") for event in events[:thinking])


@ALL
def test_continuing_from_a_stored_state_gives_the_same_events(path: Path) -> None:
    records = records_of(path)
    step = max(len(records) // 6, 1)
    for cut in range(1, len(records), step):
        _assert_cut_makes_no_difference(records_of(path), cut)


@pytest.mark.parametrize(
    "name",
    [
        "b_two_parallel",
        "f_queue_during_tool",
        "k_subagent_background",
        "m_plan_allow",
        "x_clear",
        "x_stream_cut",
        "l_tasks",
    ],
)
def test_a_cut_at_any_record_makes_no_difference(name: str) -> None:
    path = next(path for path in recordings() if path.stem == name)
    for cut in range(len(records_of(path))):
        _assert_cut_makes_no_difference(records_of(path), cut)


def _assert_cut_makes_no_difference(records: list[Record], cut: int) -> None:
    first = PROVIDER.dialogue(SESSION, "")
    whole = [event for record in records for event in first.receive(record)]
    before = PROVIDER.dialogue(SESSION, "")
    events = [event for record in records[:cut] for event in before.receive(record)]
    after = PROVIDER.dialogue(SESSION, "", before.state(), version=PROVIDER.dialogue_version)
    events += [event for record in records[cut:] for event in after.receive(record)]
    assert events == whole
    assert after.view == first.view


@ALL
def test_the_state_stays_small(path: Path) -> None:
    dialogue = PROVIDER.dialogue(SESSION, "")
    for record in records_of(path):
        dialogue.receive(record)
        assert len(dialogue.state()) < 4096
