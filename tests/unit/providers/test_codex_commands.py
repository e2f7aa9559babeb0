"""What is said to Codex: lines that any dialogue makes, and what the one fills in that talks to it now."""

import json
from typing import Any

import pytest

from betcode.domain.agents.commands import (
    AnswerPermission,
    AnswerQuestions,
    AttachedFile,
    Behaviour,
    CompactContext,
    Interrupt,
    RefuseRequest,
    SendMessage,
)
from betcode.domain.errors import InvalidRequest
from betcode.domain.runs.journal_record import RecordKind
from betcode.domain.values.identifiers import MessageId
from betcode.providers.codex.commands import line as encode
from betcode.providers.codex.dialogue import CodexDialogue
from betcode.providers.codex.state import OpenRequest, State
from support.recordings.claude import record
from support.recordings.codex import SESSION

HELLO = SendMessage(MessageId("m-1"), "Hello")
PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 8


def _dialogue(**known: Any) -> CodexDialogue:
    return CodexDialogue(SESSION, State(conversation_id="t-1", thread="t-1", model="gpt", **known))


def _said(line: bytes) -> list[Any]:
    return [json.loads(each) for each in line.splitlines()]


def test_a_message_goes_to_the_thread_that_is_known_when_it_is_handed_over() -> None:
    line = encode(HELLO)
    (said,) = _said(_dialogue().addressed(line))
    assert (said["id"], said["method"]) == ("m-1", "turn/start")
    assert said["params"]["threadId"] == "t-1"
    assert said["params"]["input"] == [{"type": "text", "text": "Hello"}]
    # And to another one, where the process that it was addressed to died before it read it.
    (again,) = _said(CodexDialogue(SESSION, State(thread="t-2")).addressed(_dialogue().addressed(line)))
    assert again["params"]["threadId"] == "t-2"


def test_an_interrupt_names_the_turn_and_waits_for_one() -> None:
    line = encode(Interrupt("i-1"))
    assert _dialogue().addressed(line) == b""
    (said,) = _said(_dialogue(turn_id="u-1").addressed(line))
    assert said["params"] == {"threadId": "t-1", "turnId": "u-1"}


@pytest.mark.parametrize(
    ("behaviour", "interrupt", "decision"),
    [(Behaviour.ALLOW, False, "accept"), (Behaviour.DENY, False, "decline"), (Behaviour.DENY, True, "cancel")],
)
def test_an_answer_goes_back_under_codex_own_number(behaviour: Behaviour, interrupt: bool, decision: str) -> None:
    line = encode(AnswerPermission("p-1", behaviour, "{}", interrupt=interrupt))
    # The first number is 0, which is a number all the same.
    assert _said(_dialogue(requests={"p-1": OpenRequest(0)}).addressed(line)) == [
        {"id": 0, "result": {"decision": decision}}
    ]
    assert _dialogue().addressed(line) == b""


def test_words_of_a_denial_follow_it_into_the_turn() -> None:
    line = encode(AnswerPermission("p-1", Behaviour.DENY, "{}", "Use the other one."))
    answer, steer = _said(_dialogue(turn_id="u-1", requests={"p-1": OpenRequest(3)}).addressed(line))
    assert answer == {"id": 3, "result": {"decision": "decline"}}
    assert steer["method"] == "turn/steer"
    assert steer["params"] == {
        "threadId": "t-1",
        "expectedTurnId": "u-1",
        "input": [{"type": "text", "text": "Use the other one."}],
    }


def test_answers_to_questions_go_by_their_ids() -> None:
    asked = json.dumps({"questions": [{"id": "branch", "question": "Which?"}, {"id": "why", "question": "Why?"}]})
    line = encode(AnswerQuestions("p-1", asked, {"Which?": "main", "Why?": ("a", "b")}))
    (said,) = _said(_dialogue(requests={"p-1": OpenRequest(7, is_question=True)}).addressed(line))
    assert said == {"id": 7, "result": {"answers": {"branch": {"answers": ["main"]}, "why": {"answers": ["a", "b"]}}}}


def test_what_cannot_be_answered_is_refused_under_its_number() -> None:
    line = encode(RefuseRequest("p-1", "used before"))
    (said,) = _said(_dialogue(requests={"p-1": OpenRequest(7)}).addressed(line))
    assert (said["id"], said["error"]["message"]) == (7, "used before")


def test_files_go_as_images_or_as_text_and_others_are_refused() -> None:
    files = (AttachedFile("a.png", "image/png", PNG), AttachedFile("b.txt", "text/plain", b"words"))
    (said,) = _said(encode(SendMessage(MessageId("m-1"), "Look", files)))
    kinds = [part["type"] for part in said["params"]["input"]]
    assert kinds == ["text", "text", "image", "text"]
    assert said["params"]["input"][2]["url"].startswith("data:image/png;base64,")
    with pytest.raises(InvalidRequest, match="Codex accepts images"):
        encode(SendMessage(MessageId("m-1"), "Look", (AttachedFile("c", "", b"\0\1"),)))


def test_plan_mode_is_told_once_and_left_by_a_word() -> None:
    dialogue = _dialogue(plan_mode=True, has_planned=True)
    line = dialogue.addressed(encode(HELLO))
    (said,) = _said(line)
    assert said["params"]["collaborationMode"]["mode"] == "plan"
    assert said["params"]["collaborationMode"]["settings"]["model"] == "gpt"
    dialogue.receive(record(line, RecordKind.IN))
    (said,) = _said(dialogue.addressed(encode(HELLO)))
    assert "collaborationMode" not in said["params"]
    line = dialogue.addressed(encode(SendMessage(MessageId("m-2"), "/implement")))
    (said,) = _said(line)
    assert said["params"]["collaborationMode"]["mode"] == "default"
    assert said["params"]["input"][0]["text"] == "Implement the plan."
    dialogue.receive(record(line, RecordKind.IN))
    assert not dialogue.view.plan_mode
    (said,) = _said(dialogue.addressed(encode(SendMessage(MessageId("m-3"), "/plan a bridge"))))
    assert said["params"]["collaborationMode"]["mode"] == "plan"
    assert said["params"]["input"][0]["text"] == "a bridge"


def test_a_compaction_is_asked_of_the_thread() -> None:
    (said,) = _said(_dialogue().addressed(encode(CompactContext("c-1"))))
    assert said == {"id": "c-1", "method": "thread/compact/start", "params": {"threadId": "t-1"}}
