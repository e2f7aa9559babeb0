"""What an answer to a prompt means, whether it can be given, and whether it is the one that was given before."""

from dataclasses import replace

import pytest

from betcode.domain.agents.commands import AnswerPermission, AnswerQuestions, Behaviour
from betcode.domain.errors import InvalidRequest, PermissionStale
from betcode.domain.store.rows import PromptKind, PromptRow, PromptState
from betcode.domain.values.identifiers import RunKey, Seq, SessionKey
from betcode.engine.core.prompt_decision import PermissionAnswer, PromptDecision, decide, same_as_before
from betcode.engine.core.questions import check_answers, questions_of
from betcode.rules import PathContext
from betcode.v1 import agent_pb2 as v1

PLACE = PathContext("/work", "/home/me", resolve=lambda path: path)
BASH = PromptRow(
    request_id="r1",
    session=SessionKey(1),
    run=RunKey(1),
    kind=PromptKind.PERMISSION,
    tool_name="Bash",
    input_json='{"command": "git commit -m wip"}',
    event=b"",
    seq=Seq(1),
    asked_ns=1,
)
PLAN = replace(BASH, tool_name="ExitPlanMode", input_json='{"plan": "x"}')
COLOUR = v1.UserQuestion(question_id="r1#0", group_id="r1", question="Which colour?")
COLOUR.options.add(label="red")
COLOUR.options.add(label="blue, or so")
CHECKS = v1.UserQuestion(question_id="r1#1", group_id="r1", question="Which checks?", multi_select=True)
CHECKS.options.add(label="lint")
CHECKS.options.add(label="tests")
GROUP = replace(
    BASH,
    kind=PromptKind.QUESTION,
    tool_name="AskUserQuestion",
    input_json='{"questions": []}',
    event=v1.AgentEventBatch(
        events=[v1.AgentEvent(user_question=COLOUR), v1.AgentEvent(user_question=CHECKS)]
    ).SerializeToString(),
)


def decided(
    decision: v1.PermissionDecision.ValueType, prompt: PromptRow = BASH, message: str = "", **more: str
) -> PromptDecision:
    return decide(PermissionAnswer(prompt.request_id, decision, message, **more), prompt, PLACE)  # type: ignore[arg-type]


def refused(decision: v1.PermissionDecision.ValueType, prompt: PromptRow = BASH, **more: str) -> str:
    with pytest.raises(InvalidRequest) as error:
        decided(decision, prompt, **more)
    return error.value.message


@pytest.mark.parametrize(
    ("decision", "behaviour", "interrupt"),
    [
        (v1.ALLOW_ONCE, Behaviour.ALLOW, False),
        (v1.ALLOW_SESSION, Behaviour.ALLOW, False),
        (v1.DENY, Behaviour.DENY, False),
        (v1.DENY_NO_INTERRUPT, Behaviour.DENY, False),
        (v1.DENY_WITH_INTERRUPT, Behaviour.DENY, True),
    ],
)
def test_every_decision_has_its_words_to_the_agent(
    decision: v1.PermissionDecision.ValueType, behaviour: Behaviour, interrupt: bool
) -> None:
    message = "" if behaviour is Behaviour.ALLOW else "not here"
    command = decided(decision, message=message).command(BASH)
    assert command == AnswerPermission("r1", behaviour, BASH.input_json, message, interrupt)


def test_an_edited_input_takes_the_place_of_the_agents_own() -> None:
    edited = decided(v1.ALLOW_WITH_EDIT, updated_input='{"command": "git status"}')
    assert edited.command(BASH) == AnswerPermission("r1", Behaviour.ALLOW, '{"command": "git status"}')


@pytest.mark.parametrize("edited", ["[]", '"x"', "{", "", '{"a": NaN}', '{"a": "\ud800"}', "{}" + " " * 5_000_000])
def test_an_edit_that_is_no_json_object_is_refused(edited: str) -> None:
    assert "edited input" in refused(v1.ALLOW_WITH_EDIT, updated_input=edited)


def test_an_edit_without_an_input_is_refused_and_so_is_an_input_without_an_edit() -> None:
    assert "needs the edited input" in refused(v1.ALLOW_WITH_EDIT)
    assert "Only ALLOW_WITH_EDIT" in refused(v1.ALLOW_ONCE, updated_input="{}")
    assert "Only ALLOW_SESSION" in refused(v1.ALLOW_ONCE, grant_pattern="Bash")


def test_a_plan_is_accepted_or_denied_and_nothing_else() -> None:
    assert decided(v1.ALLOW_ONCE, PLAN).allows
    assert not decided(v1.DENY, PLAN).allows
    assert "cannot be edited" in refused(v1.ALLOW_WITH_EDIT, PLAN, updated_input="{}")
    assert "only be answered by a person" in refused(v1.ALLOW_SESSION, PLAN)


def test_for_the_session_means_this_very_use_unless_a_pattern_is_named() -> None:
    assert decided(v1.ALLOW_SESSION).grant_pattern == "Bash(git commit -m wip)"
    assert decided(v1.ALLOW_SESSION, grant_pattern=" Bash(git commit *) ").grant_pattern == "Bash(git commit *)"
    assert "does not cover" in refused(v1.ALLOW_SESSION, grant_pattern="Bash(npm *)")
    assert "not for Bash" in refused(v1.ALLOW_SESSION, grant_pattern="Edit")
    long = replace(BASH, input_json='{"command": "echo ' + "x" * 5000 + '"}')
    assert "allow it once" in refused(v1.ALLOW_SESSION, long)


@pytest.mark.parametrize("decision", [v1.PERMISSION_DECISION_UNSPECIFIED, 77])
def test_what_decides_nothing_cannot_even_be_made(decision: v1.PermissionDecision.ValueType) -> None:
    with pytest.raises(InvalidRequest):
        PermissionAnswer("r1", decision)


@pytest.mark.parametrize("decision", [v1.ALLOW_ONCE, v1.ALLOW_SESSION, v1.ALLOW_WITH_EDIT])
def test_a_question_is_not_allowed_but_answered(decision: v1.PermissionDecision.ValueType) -> None:
    assert "--choose" in refused(decision, GROUP)


def as_answered(decision: PromptDecision) -> PromptRow:
    return replace(
        BASH,
        state=PromptState.ANSWERED,
        decision=decision.name,
        grant_pattern=decision.grant_pattern,
        updated_input=decision.updated_input,
        answered_by="phone",
        answered_by_type="web",
        answered_ns=1_700_000_000_000_000_000,
    )


ALL = [
    decided(v1.ALLOW_ONCE),
    decided(v1.ALLOW_SESSION),
    decided(v1.ALLOW_SESSION, grant_pattern="Bash(git commit *)"),
    decided(v1.ALLOW_WITH_EDIT, updated_input='{"command": "a"}'),
    decided(v1.ALLOW_WITH_EDIT, updated_input='{"command": "b"}'),
    decided(v1.DENY),
    decided(v1.DENY_WITH_INTERRUPT),
]


@pytest.mark.parametrize("first", ALL)
@pytest.mark.parametrize("again", ALL)
def test_the_same_again_is_known_and_any_other_is_stale(first: PromptDecision, again: PromptDecision) -> None:
    if first == again:
        assert same_as_before(as_answered(first), again)
        return
    with pytest.raises(PermissionStale) as error:
        same_as_before(as_answered(first), again)
    assert "phone, web at 2023-11-14T22:13:20Z" in error.value.message
    assert error.value.details["answered_by"] == "phone"
    assert error.value.details["answered_at"] == "2023-11-14T22:13:20Z"


def test_what_means_the_same_is_the_same() -> None:
    assert same_as_before(as_answered(decided(v1.DENY)), decided(v1.DENY_NO_INTERRUPT, message="other words"))
    spaced = decided(v1.ALLOW_WITH_EDIT, updated_input='{ "command":"a" }')
    assert same_as_before(as_answered(ALL[3]), spaced)


def test_an_answer_after_the_end_says_so() -> None:
    with pytest.raises(PermissionStale) as error:
        same_as_before(replace(BASH, state=PromptState.EXPIRED), decided(v1.ALLOW_ONCE))
    assert error.value.message == "Permission request expired"


def test_an_answer_to_what_was_asked_again_names_the_new_request() -> None:
    with pytest.raises(PermissionStale) as error:
        same_as_before(replace(BASH, state=PromptState.SUPERSEDED, superseded_by="r2"), decided(v1.ALLOW_ONCE))
    assert error.value.message.endswith("answer r2 with betcode permission answer r2")
    assert error.value.details["superseded_by"] == "r2"


@pytest.mark.behaviour("question.multi-select")
@pytest.mark.parametrize(
    ("question", "answer", "takes"),
    [
        (COLOUR, "red", True),
        (COLOUR, "mauve, with spots", True),
        (COLOUR, "blue, or so", True),
        (COLOUR, '["red"]', True),
        (COLOUR, '["red", "blue, or so"]', False),
        (CHECKS, "lint, tests", True),
        (CHECKS, '["lint", "tests"]', True),
        (CHECKS, "neither", True),
        (CHECKS, " ", False),
        (CHECKS, '[""]', False),
    ],
)
def test_a_question_takes_what_its_kind_allows(question: v1.UserQuestion, answer: str, takes: bool) -> None:
    if takes:
        check_answers(GROUP, {question.question: answer})
        return
    with pytest.raises(InvalidRequest):
        check_answers(GROUP, {question.question: answer})


def test_two_options_are_two_answers_also_with_a_comma() -> None:
    group = replace(
        GROUP, event=v1.AgentEventBatch(events=[v1.AgentEvent(user_question=_one_of("a", "b"))]).SerializeToString()
    )
    with pytest.raises(InvalidRequest):
        check_answers(group, {"One?": "a, b"})
    check_answers(group, {"One?": "a"})


def _one_of(*labels: str) -> v1.UserQuestion:
    question = v1.UserQuestion(question_id="r1#0", group_id="r1", question="One?")
    for label in labels:
        question.options.add(label=label)
    return question


def test_answers_belong_to_questions_of_the_group() -> None:
    assert [question.question for question in questions_of(GROUP)] == ["Which colour?", "Which checks?"]
    for wrong in ({"Which shape?": "round"}, {}):
        with pytest.raises(InvalidRequest):
            check_answers(GROUP, wrong)
    with pytest.raises(InvalidRequest):
        check_answers(BASH, {"Which colour?": "red"})


def test_what_was_chosen_as_a_list_goes_to_the_agent_as_one() -> None:
    answers = {"Which colour?": '["red"]', "Which checks?": '["lint", "tests"]'}
    command = PromptDecision(v1.ALLOW_ONCE, answers=answers).command(GROUP)
    assert command == AnswerQuestions(
        "r1", GROUP.input_json, {"Which colour?": "red", "Which checks?": ("lint", "tests")}
    )


@pytest.mark.parametrize("unread", ['{"a": NaN}', "[" * 100_000 + "]" * 100_000])
def test_what_cannot_be_read_is_not_sent_back_when_it_is_allowed(unread: str) -> None:
    prompt = replace(BASH, input_json=unread)
    assert decided(v1.ALLOW_ONCE, prompt).command(prompt) == AnswerPermission("r1", Behaviour.ALLOW, "")


@pytest.mark.parametrize("edited", ["{}", '{"description": "x"}', '{"command": 1}', '{"command": " "}'])
def test_an_edited_input_has_what_the_tool_is_about(edited: str) -> None:
    assert refused(v1.ALLOW_WITH_EDIT, updated_input=edited) == "The edited input has no command, and Bash needs one"
