"""What an agent asks in odd ways: without an id, too much, too long, unreadable, and across a daemon's end."""

import dataclasses

import pytest

from betcode.providers.claude.dialogue import ClaudeDialogue
from betcode.providers.claude.state import VERSION, State, load
from support.deep_json import UNREADABLY_DEEP
from support.recordings.claude import SESSION, record
from support.recordings.dialogue import INIT, fresh, hear, say

RESULT = {"type": "tool_result", "tool_use_id": "t1", "content": "done"}


def test_the_directory_of_a_use_outlives_the_daemon_and_not_the_use() -> None:
    dialogue = fresh()
    called = {"tool_name": "Bash", "tool_input": {"command": "cat key"}, "cwd": "/secret"}
    hook = {"subtype": "hook_callback", "callback_id": "screening", "tool_use_id": "t1", "input": called}
    say(dialogue, INIT, {"type": "control_request", "request_id": "h1", "request": hook})
    answer = {"subtype": "success", "request_id": "h1", "response": {}}
    hear(dialogue, {"type": "control_response", "response": answer})
    after = ClaudeDialogue(SESSION, load(dialogue.state(), VERSION))
    assert after.directory_of("t1") == "/secret"
    say(after, {"type": "user", "message": {"role": "user", "content": [RESULT]}})
    assert after.directory_of("t1") is None


@pytest.mark.parametrize(
    ("request_id", "known_as", "how"),
    [("", "", "no id"), (None, "", "no id"), ([1], "", "no id"), ("r" * 257, "r" * 257, "an id that is too long")],
)
def test_a_request_without_a_usable_id_is_told_and_refused(request_id: object, known_as: str, how: str) -> None:
    dialogue = fresh()
    asked = {"subtype": "can_use_tool", "tool_name": "Bash", "input": {"command": "ls"}, "tool_use_id": "t1"}
    events = say(dialogue, INIT, {"type": "control_request", "request_id": request_id, "request": asked})
    assert events[-1].notice.message == f"The agent asked for Bash with {how}, and was refused"
    assert [refusal.request_id for refusal in dialogue.view.refusals] == [known_as]
    answer = {"subtype": "error", "request_id": known_as, "error": "x"}
    hear(dialogue, {"type": "control_response", "response": answer})
    assert dialogue.view.refusals == ()


def test_what_is_asked_in_a_turn_that_cannot_be_followed_is_shown() -> None:
    dialogue = ClaudeDialogue(SESSION, State(conversation_id="c", began=True, lost=True))
    assert say(dialogue, {"type": "command_lifecycle", "command_uuid": "m", "state": "started"}) == []
    events = say(dialogue, asking(1))
    assert [event.permission_request.request_id for event in events if event.HasField("permission_request")] == ["r1"]
    assert dialogue.view.open_requests == ("r1",)


def test_a_tool_whose_name_is_none_is_refused() -> None:
    dialogue = fresh()
    asked = {"subtype": "can_use_tool", "tool_name": "T" * 513, "input": {}, "tool_use_id": "t1"}
    events = say(dialogue, INIT, {"type": "control_request", "request_id": "r", "request": asked})
    assert events[-1].notice.message.endswith("…, which is not a valid tool name, and was refused")
    assert [refusal.request_id for refusal in dialogue.view.refusals] == ["r"]


def test_a_request_whose_id_is_a_number_is_shown() -> None:
    dialogue = fresh()
    asked = {"subtype": "can_use_tool", "tool_name": "Bash", "input": {"command": "ls"}, "tool_use_id": "t1"}
    events = say(dialogue, INIT, {"type": "control_request", "request_id": 7, "request": asked})
    assert [event.permission_request.request_id for event in events if event.HasField("permission_request")] == ["7"]


def test_a_use_that_is_shown_without_an_id_waits_for_its_answer() -> None:
    dialogue = fresh()
    hook = {"subtype": "hook_callback", "callback_id": "screening", "input": {"tool_name": "Bash", "tool_input": {}}}
    say(dialogue, INIT, {"type": "control_request", "request_id": "", "request": hook})
    assert [(call.request_id, call.tool_name) for call in dialogue.view.calls] == [("", "Bash")]


@pytest.mark.parametrize(
    ("request_id", "own_input"),
    [
        ('"r"', '{"a": NaN, "input": {"b": ["}", 1e999]}}'),
        ('"r"', UNREADABLY_DEEP),
        ("7", UNREADABLY_DEEP),
        ("7", "{NaN"),
    ],
    ids=["NaN", "deep", "deep, with a number for an id", "no JSON"],
)
def test_what_cannot_be_read_is_kept_byte_for_byte(request_id: str, own_input: str) -> None:
    asked = '{"subtype":"can_use_tool","tool_name":"X","input": ' + own_input + ' ,"tool_use_id":"t"}'
    events = say(fresh(), f'{{"type":"control_request","request_id":{request_id},"request":{asked}}}')
    requests = [event.permission_request for event in events if event.HasField("permission_request")]
    assert [request.input_json for request in requests] == ([own_input] if own_input != "{NaN" else [])
    assert all(request.note.endswith(f"it is {len(own_input)} bytes") for request in requests)


def test_a_number_for_an_id_leaves_the_input_as_it_was_written() -> None:
    asked = '{"subtype":"can_use_tool","tool_name":"X","input":{"n": 1e2, "big": 123456789012345678901234567890}}'
    events = say(fresh(), '{"type":"control_request","request_id":7,"request":' + asked + "}")
    [request] = [event.permission_request for event in events if event.HasField("permission_request")]
    assert request.input_json == '{"n": 1e2, "big": 123456789012345678901234567890}'
    assert request.note == ""


def asking(number: int) -> dict[str, object]:
    asked = {"subtype": "can_use_tool", "tool_name": "Bash", "input": {"command": "ls"}, "tool_use_id": f"t{number}"}
    return {"type": "control_request", "request_id": f"r{number}", "request": asked}


def test_of_too_many_requests_the_last_are_refused_and_none_is_forgotten() -> None:
    dialogue = fresh()
    events = say(dialogue, INIT, *(asking(number) for number in range(1026)))
    assert dialogue.view.open_requests == tuple(f"r{number}" for number in range(1024))
    assert [refusal.request_id for refusal in dialogue.view.refusals] == ["r1024", "r1025"]
    assert events[-1].notice.message == "The agent asked for Bash while 1024 requests waited, and was refused"
    withdrawn = say(dialogue, {"type": "control_cancel_request", "request_id": "r0"})
    assert [event.permission_resolved.request_id for event in withdrawn] == ["r0"]


@pytest.mark.parametrize(
    ("subtype", "refused", "waiting"),
    [("can_use_tool", ["r1"], []), ("hook_callback", [], [("r1", "", "")])],
)
def test_a_request_that_is_too_long_is_answered_all_the_same(
    subtype: str, refused: list[str], waiting: list[tuple[str, str, str]]
) -> None:
    dialogue = fresh()
    say(dialogue, INIT)
    head = f'{{"type":"control_request","request_id":"r1","request":{{"subtype":"{subtype}","tool_use_id":"t'
    events = dialogue.receive(dataclasses.replace(record(head), too_long=True, offset=0, end=70_000_000))
    assert "70000000 bytes" in events[0].notice.message
    assert [refusal.request_id for refusal in dialogue.view.refusals] == refused
    assert [(call.request_id, call.tool_name, call.input_json) for call in dialogue.view.calls] == waiting
