"""What recordings show of an agent that asks: prompts, questions, calls to be screened, and their end."""

import json

from betcode.domain.agents.agent_state import CallScreening
from betcode.domain.runs.journal_record import Record, RecordKind
from betcode.v1 import agent_pb2 as v1
from support.recordings.claude import SESSION
from support.recordings.replay import PROVIDER, of_kind, only, replay, up_to


def test_while_a_prompt_is_open_no_other_tool_is_reported_as_running() -> None:
    events = replay("b_two_parallel")
    waiting = next(n for n, event in enumerate(events) if event.status_change.status == v1.WAITING_FOR_USER)
    second = next(n for n, event in enumerate(events) if event.tool_call_start.tool_id == "toolu_fake000038")
    answered = next(n for n, e in enumerate(events) if n > waiting and e.status_change.status == v1.EXECUTING_TOOL)
    assert waiting < second < answered


def test_questions_of_one_request_share_a_group() -> None:
    first, second = (event.user_question for event in of_kind(replay("d_ask_answers"), "user_question"))
    group = "d0e67bbb-6f86-4d06-944d-900aa1512feb"
    assert (first.question_id, second.question_id) == (f"{group}#0", f"{group}#1")
    assert first.group_id == second.group_id == group
    assert (first.question, first.header, first.multi_select) == ("Which branch should I use?", "Branch", False)
    assert (second.question, second.multi_select) == ("Which checks should I run?", True)
    assert [option.label for option in second.options] == ["lint", "types", "tests"]
    assert first.options[1].description == "the next release"
    assert first.input_json.startswith('{"questions":[{"question":"Which branch')


def test_an_interrupt_withdraws_the_open_prompt() -> None:
    events = replay("r_cancel_on_interrupt")
    resolved = only(events, "permission_resolved").permission_resolved
    assert resolved.request_id == only(events, "permission_request").permission_request.request_id
    assert resolved.resolution == "withdrawn"


def test_a_prompt_that_the_agent_gave_up_is_withdrawn() -> None:
    dialogue = PROVIDER.dialogue(SESSION, "")
    assert (
        only(replay("u_eof_permission", dialogue), "permission_resolved").permission_resolved.resolution == "withdrawn"
    )
    assert dialogue.view.open_requests == ()


def test_a_call_that_is_to_be_screened_waits_until_its_answer_came_by() -> None:
    dialogue = PROVIDER.dialogue(SESSION, "")
    rest = up_to("n_hooks", b'"hook_callback"', dialogue)
    assert dialogue.view.call_screening is CallScreening.YES
    [call] = dialogue.view.calls
    assert (call.request_id, call.tool_name) == ("8c36e44e-8435-449a-8d6b-ad83bf109e7e", "Bash")
    assert (json.loads(call.input_json)["command"], call.cwd) == (
        "touch made-by-tool.txt && wc -l app.py",
        "/home/dev/project",
    )
    [adopted] = PROVIDER.dialogue(SESSION, "", dialogue.state(), version=PROVIDER.dialogue_version).view.calls
    assert (adopted.request_id, adopted.tool_name, adopted.input_json) == (call.request_id, "Bash", "")
    for record in rest:
        dialogue.receive(record)
    assert not dialogue.view.calls
    assert not dialogue.view.refusals


def test_requests_that_nobody_can_answer_are_refused_once() -> None:
    dialogue = PROVIDER.dialogue(SESSION, "")
    asked = b'{"type":"control_request","request_id":"e-1","request":{"subtype":"elicitation"}}'
    dialogue.receive(Record(RecordKind.OUT, 0, 1, 1, asked, offset=1, end=2))
    [refusal] = dialogue.view.refusals
    assert refusal.request_id == "e-1"
    dialogue.receive(Record(RecordKind.IN, 0, 2, 2, PROVIDER.encode(refusal), offset=2, end=3))
    assert dialogue.view.refusals == ()
