"""Every recording of the real `codex app-server`, replayed: the events written down, and what must hold for all."""

import json
from pathlib import Path

import pytest

from betcode.domain.runs.journal_record import Record, RecordKind
from betcode.providers.codex import frames
from betcode.v1 import agent_pb2 as v1
from betcode.wire import Malformed
from support.recordings.claude import golden_files, read_back
from support.recordings.codex import GOLDEN, PROVIDER, SESSION, recordings, replay, runs_of
from support.recordings.outline import outline, read_outlines

ALL = pytest.mark.parametrize("path", recordings(), ids=lambda path: path.stem.removeprefix("appserver-"))


@pytest.mark.parametrize("path", golden_files(GOLDEN), ids=lambda path: path.stem)
def test_a_recording_gives_the_events_of_its_golden_file(path: Path) -> None:
    expected = [read_back(row) for row in json.loads(path.read_text())]
    [recording] = [each for each in recordings() if each.stem == path.stem]
    assert replay(recording) == expected


@ALL
def test_a_recording_has_its_outline(path: Path) -> None:
    assert outline(replay(path)) == read_outlines(GOLDEN)[path.stem]


def test_there_is_an_outline_for_each_recording_and_no_other() -> None:
    assert read_outlines(GOLDEN).keys() == {path.stem for path in recordings()}
    assert len(recordings()) >= 14


@ALL
def test_every_line_of_codex_can_be_read(path: Path) -> None:
    lines = [record.data for run in runs_of(path) for record in run if record.kind is RecordKind.OUT]
    assert lines
    assert [line for line in lines if isinstance(frames.decode(line), Malformed)] == []


@ALL
def test_a_tool_starts_once_before_its_prompt_and_ends_once(path: Path) -> None:
    started: set[str] = set()
    ended: set[str] = set()
    for event in replay(path):
        match event.WhichOneof("event"):
            case "tool_call_start":
                assert event.tool_call_start.tool_id not in started
                assert event.tool_call_start.tool_name
                assert isinstance(json.loads(event.tool_call_start.input_json), dict)
                started.add(event.tool_call_start.tool_id)
            case "permission_request":
                assert event.permission_request.tool_use_id in started - ended
            case "tool_call_result":
                assert event.tool_call_result.tool_id in started - ended
                ended.add(event.tool_call_result.tool_id)
            case _:
                pass


@ALL
def test_settled_text_equals_the_joined_deltas_or_is_empty(path: Path) -> None:
    said: dict[tuple[str, str, int], str] = {}
    for event in replay(path):
        kind = event.WhichOneof("event")
        if kind in ("text_delta", "thinking_delta"):
            delta = event.text_delta if kind == "text_delta" else event.thinking_delta
            block = (kind, delta.message_id, delta.block)
            if not delta.is_complete:
                said[block] = said.get(block, "") + delta.text
            elif block in said:
                assert delta.text in (said.pop(block), "")


@ALL
def test_a_turn_ends_once_with_its_usage_before_it(path: Path) -> None:
    events = replay(path)
    kinds = [event.WhichOneof("event") for event in events]
    ended = [message for event in events for message in event.turn_complete.message_ids]
    assert len(ended) == len(set(ended))
    for place, event in enumerate(events):
        if event.HasField("turn_complete"):
            assert kinds[place - 1] == "usage"
            after = [one.status_change.status for one in events[place + 1 :] if one.HasField("status_change")]
            assert after[:1] in ([], [v1.IDLE], [v1.THINKING], [v1.COMPACTING])


@ALL
def test_a_cut_at_any_record_makes_no_difference(path: Path) -> None:
    state = b""
    for run in runs_of(path):
        for cut in range(len(run)):
            _assert_cut_makes_no_difference(run, cut, state)
        dialogue = PROVIDER.dialogue(SESSION, "", state, version=PROVIDER.dialogue_version)
        for record in run:
            dialogue.receive(record)
        state = PROVIDER.carry_over(dialogue.state(), PROVIDER.dialogue_version)


def _assert_cut_makes_no_difference(records: list[Record], cut: int, state: bytes) -> None:
    before = PROVIDER.dialogue(SESSION, "", state, version=PROVIDER.dialogue_version)
    for record in records[:cut]:
        before.receive(record)
    after = PROVIDER.dialogue(SESSION, "", before.state(), version=PROVIDER.dialogue_version)
    assert after.receive(records[cut]) == before.receive(records[cut])
    assert after.state() == before.state()
    assert after.view == before.view


@ALL
def test_the_state_stays_small(path: Path) -> None:
    for run in runs_of(path):
        dialogue = PROVIDER.dialogue(SESSION, "")
        for record in run:
            dialogue.receive(record)
            assert len(dialogue.state()) < 4096


def test_tokens_are_counted_once_over_a_killed_process() -> None:
    """The thread's totals go on behind a kill; what the dead process had used is told by the next turn."""
    usage = [event.usage for event in replay(_named("kill9-resume")) if event.HasField("usage")]
    assert sum(each.output_tokens for each in usage) == 150
    assert sum(each.input_tokens + each.cache_read_tokens for each in usage) == 3000


def test_a_command_that_outlives_its_interrupt_is_cleaned_away() -> None:
    run = runs_of(_named("orphans"))[0]
    dialogue = PROVIDER.dialogue(SESSION, "")
    wanted = []
    for record in run:
        dialogue.receive(record)
        wanted.append([errand.line for errand in dialogue.view.errands])
    lines = {json.loads(line)["method"] for lines in wanted for line in lines}
    assert lines == {"thread/backgroundTerminals/clean"}


def _named(name: str) -> Path:
    return next(path for path in recordings() if path.stem == f"appserver-{name}")
