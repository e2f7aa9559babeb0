"""What we say to the agent: whole lines of JSON, with its own text given back as it came."""

import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from betcode.domain.agents.agent_state import CallScreening
from betcode.domain.agents.commands import (
    AnswerCall,
    AnswerPermission,
    AnswerQuestions,
    AttachedFile,
    Behaviour,
    CallVerdict,
    Command,
    Interrupt,
    RefuseRequest,
    ScreenCalls,
    SendMessage,
)
from betcode.domain.errors import InvalidRequest
from betcode.domain.runs.journal_record import RecordKind
from betcode.domain.values.identifiers import MessageId
from betcode.providers.claude.provider import ClaudeProvider
from support.recordings.claude import SESSION, WIRE, record, records_of

MESSAGE_ID = MessageId("6cce4e91-2076-4370-9601-c975c39520f3")
PROVIDER = ClaudeProvider()
WILD = st.text(alphabet=st.characters(exclude_categories=()))


def send(command: Command) -> bytes:
    return PROVIDER.encode(command)


def sent(command: Command) -> dict[str, Any]:
    line = send(command)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    value = json.loads(line)
    assert isinstance(value, dict)
    return value


@pytest.mark.behaviour("wire.stdin.user-message", "launch.prompt-on-stdin")
def test_a_message_is_one_user_line_with_its_id() -> None:
    assert sent(SendMessage(MESSAGE_ID, "hello\nthere")) == {
        "type": "user",
        "message": {"role": "user", "content": "hello\nthere"},
        "uuid": MESSAGE_ID,
    }


@given(WILD, WILD, st.text())
def test_any_text_makes_a_line_that_the_agent_can_read(content: str, reason: str, answer: str) -> None:
    sent(SendMessage(MESSAGE_ID, content))
    sent(RefuseRequest("r", reason))
    sent(AnswerCall("r", CallVerdict.DENY, reason))
    sent(AnswerPermission("r", Behaviour.DENY, "", content))
    sent(AnswerQuestions("r", json.dumps({"questions": [content]}), {content: answer}))


def test_images_documents_and_text_files_become_blocks() -> None:
    attachments = (
        AttachedFile("a.png", "image/png", b"\x89PNG"),
        AttachedFile("a.pdf", "application/pdf", b"%PDF"),
        AttachedFile("notes.txt", "text/plain; charset=utf-8", "grüße".encode()),
    )
    text, _, image, named, document, file = sent(SendMessage(MESSAGE_ID, "look", attachments))["message"]["content"]
    assert text == {"type": "text", "text": "look"}
    assert image["source"] == {
        "type": "base64",
        "media_type": "image/png",
        "data": base64.b64encode(b"\x89PNG").decode(),
    }
    assert (image["type"], document["type"]) == ("image", "document")
    assert named == {"type": "text", "text": '<file name="a.pdf" type="application/pdf" />'}
    assert file == {"type": "text", "text": '<file name="notes.txt" type="text/plain">\ngrüße\n</file>'}


def test_a_files_name_cannot_end_what_it_names() -> None:
    attached = AttachedFile('a"><b>.txt', "text/plain", b"words")
    (_, file) = sent(SendMessage(MESSAGE_ID, "look", (attached,)))["message"]["content"]
    assert file["text"] == '<file name="a&quot;&gt;&lt;b&gt;.txt" type="text/plain">\nwords\n</file>'


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        ("application/octet-stream", b"\xff\xfe\x00"),
        ("application/octet-stream", b"words\x00words"),
        ("text/plain", b"words\x00words"),
    ],
)
def test_a_file_that_the_agent_cannot_take_is_refused(kind: str, data: bytes) -> None:
    with pytest.raises(InvalidRequest) as refusal:
        send(SendMessage(MESSAGE_ID, "look", (AttachedFile("a.bin", kind, data),)))
    assert refusal.value.details["filename"] == "a.bin"


@pytest.mark.behaviour("wire.stdin.allow")
def test_an_allow_gives_the_agents_own_text_back_unchanged() -> None:
    own = '{"n": 10,  "f": 1.0, "odd": "\\u0041\\ud800", "big": 123456789012345678901234567890}'
    line = send(AnswerPermission("r1", Behaviour.ALLOW, own))
    assert b'"updatedInput":' + own.encode() + b"}" in line
    response = json.loads(line)["response"]
    assert (response["subtype"], response["request_id"]) == ("success", "r1")
    assert response["response"]["behavior"] == "allow"


def test_nothing_in_an_answer_can_be_taken_for_the_end_of_a_line() -> None:
    own = '{\n "text": "a\u2028b\u2029c\x85d"\r\n}'
    line = send(AnswerPermission("r1", Behaviour.ALLOW, own)).decode()
    assert len(line.splitlines()) == 1
    assert json.loads(line)["response"]["response"]["updatedInput"] == {"text": "a\u2028b\u2029c\x85d"}
    assert len(send(SendMessage(MESSAGE_ID, "a\u2028b\u2029c\x85d")).decode().splitlines()) == 1


def test_an_allow_without_an_input_leaves_the_agents_own_in_force() -> None:
    response = sent(AnswerPermission("r1", Behaviour.ALLOW, ""))["response"]["response"]
    assert response == {"behavior": "allow"}


def test_an_input_that_is_no_json_is_never_sent() -> None:
    with pytest.raises(InvalidRequest):
        send(AnswerPermission("r1", Behaviour.ALLOW, '{"cut off'))


@pytest.mark.behaviour("wire.stdin.deny")
def test_a_deny_always_has_a_message() -> None:
    assert sent(AnswerPermission("r1", Behaviour.DENY, "{}", "not here"))["response"]["response"] == {
        "behavior": "deny",
        "message": "not here",
    }
    response = sent(AnswerPermission("r1", Behaviour.DENY, "{}"))["response"]
    assert response == {
        "subtype": "success",
        "request_id": "r1",
        "response": {"behavior": "deny", "message": "User denied permission."},
    }


def test_a_deny_can_end_the_turn() -> None:
    response = sent(AnswerPermission("r1", Behaviour.DENY, "{}", "stop", interrupt=True))["response"]["response"]
    assert response == {"behavior": "deny", "message": "stop", "interrupt": True}


def test_several_chosen_options_are_a_list() -> None:
    updated = sent(AnswerQuestions("r1", "{}", {"Which?": ("a", "b, c")}))["response"]["response"]["updatedInput"]
    assert updated == {"answers": {"Which?": ["a", "b, c"]}}


@pytest.mark.behaviour("wire.stdin.question-answer")
def test_answers_go_back_with_the_questions_as_they_came() -> None:
    own = '{"questions":[{"question":"Which?","options":[{"label":"a"}]}] }'
    updated = sent(AnswerQuestions("r1", own, {"Which?": "a"}))["response"]["response"]["updatedInput"]
    assert updated == {"questions": [{"question": "Which?", "options": [{"label": "a"}]}], "answers": {"Which?": "a"}}
    assert b'{"questions":[{"question":"Which?","options":[{"label":"a"}]}],"answers"' in send(
        AnswerQuestions("r1", own, {"Which?": "a"})
    )


def test_an_interrupt_can_drop_what_is_queued() -> None:
    assert sent(Interrupt("i1"))["request"] == {"subtype": "interrupt"}
    assert sent(Interrupt("i1", cancel_queued=True))["request"] == {"subtype": "interrupt", "cancel_queued": True}


def test_a_refusal_is_an_error_for_that_request() -> None:
    response = sent(RefuseRequest("r1", "not supported"))["response"]
    assert response == {"subtype": "error", "request_id": "r1", "error": "not supported"}


@pytest.mark.parametrize("verdict", [CallVerdict.DENY, CallVerdict.ASK])
def test_a_screened_call_is_decided_with_a_reason(verdict: CallVerdict) -> None:
    response = sent(AnswerCall("r1", verdict, "because"))["response"]
    decided = {"permissionDecision": verdict.value, "permissionDecisionReason": "because"}
    assert response["response"] == {"hookSpecificOutput": {"hookEventName": "PreToolUse", **decided}}
    assert (response["subtype"], response["request_id"]) == ("success", "r1")


def test_a_screened_call_that_nothing_is_against_is_left_to_the_agent() -> None:
    assert sent(AnswerCall("r1", CallVerdict.UNDECIDED))["response"]["response"] == {}


def test_an_agent_can_be_told_at_any_time_to_show_every_call() -> None:
    dialogue = PROVIDER.dialogue(SESSION, "")
    line = PROVIDER.encode(ScreenCalls("s"))
    states = [dialogue.view.call_screening]
    dialogue.receive(record(line, RecordKind.IN))
    states.append(dialogue.view.call_screening)
    refused = PROVIDER.dialogue(SESSION, "", dialogue.state(), version=PROVIDER.dialogue_version)
    dialogue.receive(record({"type": "control_response", "response": {"subtype": "success", "request_id": "s"}}))
    states.append(dialogue.view.call_screening)
    assert states == [CallScreening.NO, CallScreening.TOLD, CallScreening.YES]
    answer = {"type": "control_response", "response": {"subtype": "error", "request_id": "s"}}
    [told] = refused.receive(record(answer))
    assert refused.view.call_screening is CallScreening.REFUSED
    assert "does not submit its tool calls" in told.notice.message


def test_sending_changes_nothing_until_the_record_comes_by() -> None:
    dialogue = PROVIDER.dialogue(SESSION, "")
    records = records_of(WIRE / "b_bash_allow.ndjson")
    until = next(n for n, one in enumerate(records) if b"can_use_tool" in one.data)
    for one in records[: until + 1]:
        dialogue.receive(one)
    [request_id] = dialogue.view.open_requests
    before = dialogue.state()
    line = PROVIDER.encode(AnswerPermission(request_id, Behaviour.ALLOW, "{}"))
    assert dialogue.state() == before
    dialogue.receive(record(line, RecordKind.IN))
    assert len(dialogue.view.open_requests) == 0
