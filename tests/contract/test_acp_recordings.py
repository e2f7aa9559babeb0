"""Every recording of a real program that speaks ACP, replayed: the events written down, and what holds for all."""

import json
from pathlib import Path

import pytest

from betcode.domain.runs.journal_record import RecordKind
from betcode.v1 import agent_pb2 as v1
from betcode.wire import Malformed
from betcode.wire.acp.decoder import decode
from support.recordings.acp import GOLDEN, PROVIDER, following, lives_of, recordings, replay, session_of
from support.recordings.claude import golden_files, read_back
from support.recordings.outline import outline, read_outlines

ALL = pytest.mark.parametrize("path", recordings(), ids=lambda path: path.stem)
ENDED = pytest.mark.parametrize(
    "path", [path for path in recordings() if "kill9" not in path.stem], ids=lambda path: path.stem
)


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
    assert len(recordings()) >= 20


@ALL
def test_every_line_can_be_read(path: Path) -> None:
    lines = [
        record.data for life in lives_of(path) for record in life if record.kind in (RecordKind.IN, RecordKind.OUT)
    ]
    assert [line for line in lines if isinstance(decode(line), Malformed)] == []
    assert not [event for event in replay(path) if event.notice.kind == v1.NOTICE_KIND_MALFORMED]


@ALL
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
                assert event.permission_request.tool_name == "Bash"  # the recordings ask about commands alone
                assert json.loads(event.permission_request.input_json)["command"]
            case "tool_call_result":
                assert event.tool_call_result.tool_id in started - ended
                ended.add(event.tool_call_result.tool_id)
            case _:
                pass
    assert started == ended


@ALL
def test_settled_text_equals_the_joined_deltas(path: Path) -> None:
    said: dict[tuple[str, str, int], str] = {}
    for event in replay(path):
        kind = event.WhichOneof("event")
        if kind not in ("text_delta", "thinking_delta"):
            continue
        delta = event.text_delta if kind == "text_delta" else event.thinking_delta
        block = (kind, delta.message_id, delta.block)
        if not delta.is_complete:
            said[block] = said.get(block, "") + delta.text
        else:
            assert delta.text == said.pop(block)
    assert len(said) <= len(lives_of(path)) - 1  # what a killed one was in the middle of


@ENDED
def test_each_prompt_has_one_turn_which_ends_in_order(path: Path) -> None:
    events = replay(path)
    kinds = [event.WhichOneof("event") for event in events]
    sent = [
        event.message_state.message_id for event in events if event.message_state.state == v1.MESSAGE_STATE_DELIVERED
    ]
    turns = [list(event.turn_complete.message_ids) for event in events if event.HasField("turn_complete")]
    assert turns == [[message_id] for message_id in sent]
    for place, event in enumerate(events):
        if event.HasField("turn_complete"):
            assert kinds[place - 1] == "usage"
            assert events[place + 1].status_change.status == v1.IDLE


@ALL
def test_a_cut_at_any_record_makes_no_difference(path: Path) -> None:
    session = session_of(path)
    for life in lives_of(path):
        whole = following(None, session)
        before = whole.state()
        for record in life:
            expected = whole.receive(record)
            resumed = PROVIDER.dialogue(session, "", before, version=PROVIDER.dialogue_version)
            assert resumed.receive(record) == expected
            assert resumed.state() == whole.state()
            assert resumed.view == whole.view
            before = whole.state()


@ALL
def test_the_state_stays_small(path: Path) -> None:
    for life in lives_of(path):
        dialogue = following(None, session_of(path))
        for record in life:
            dialogue.receive(record)
            assert len(dialogue.state()) < 8192


@pytest.mark.parametrize("agent", ["claude", "opencode", "openclaw"])
def test_replayed_messages_of_a_loaded_session_give_no_events(agent: str) -> None:
    [path] = [path for path in recordings() if path.stem == f"{agent}-kill9-load"]
    texts = [event.text_delta.text for event in replay(path) if event.text_delta.is_complete]
    assert texts.count("I will remember 42.") == 1
    assert not [event for event in replay(path) if event.HasField("user_input")]


def test_a_conversation_that_cannot_be_taken_up_is_a_failure_with_advice() -> None:
    [path] = [path for path in recordings() if path.stem == "gemini-kill9-load"]
    first, second = lives_of(path)
    dialogue = following(None, session_of(path))
    for record in first:
        dialogue.receive(record)
    assert not dialogue.view.conversation_began  # it says that it can, and cannot
    dialogue = following(dialogue, session_of(path))
    for record in second[: [b"Invalid session identifier" in record.data for record in second].index(True) + 1]:
        dialogue.receive(record)
    assert dialogue.view.failure is not None
    assert dialogue.view.failure.has_conversation is False
    assert "Invalid session identifier" in dialogue.view.failure.advice
