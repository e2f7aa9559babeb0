"""Prompts as lines, and the meaning of typed lines."""

import json
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from betcode.v1 import agent_pb2 as v1
from betcode.wording.prompts import (
    Allow,
    AllowSession,
    Deny,
    DenyAndStop,
    Edit,
    OpenPrompts,
    Permission,
    Question,
    Reply,
    ShowAll,
    ShowChoices,
    understand,
)
from betcode.wording.render import Describer


def permission(command: str = "ls", request_id: str = "r1") -> v1.AgentEvent:
    request = v1.PermissionRequest(
        request_id=request_id, tool_name="Bash", input_json=json.dumps({"command": command, "timeout": 10})
    )
    request.grant_offers.add(pattern=f"Bash({command})", label="this command")
    request.grant_offers.add(pattern="Bash(ls *)", label="ls with anything")
    return v1.AgentEvent(permission_request=request)


def question(text: str, number: int = 0, *, multi: bool = False) -> v1.AgentEvent:
    options = [v1.QuestionOption(value=word, label=word) for word in ("red", "green", "blue")]
    asked = v1.UserQuestion(question_id=f"g#{number}", group_id="g", question=text, options=options, multi_select=multi)
    return v1.AgentEvent(user_question=asked)


def resolved(request_id: str) -> v1.AgentEvent:
    return v1.AgentEvent(permission_resolved=v1.PermissionResolved(request_id=request_id, resolution="answered"))


BASH = Permission(permission().permission_request)
COLOUR = Question(question("Which colour?").user_question)
COLOURS = Question(question("Which colours?", multi=True).user_question)


@pytest.mark.parametrize(
    ("line", "typed"),
    [
        ("y", Allow()),
        (" YES ", Allow()),
        ("n", Deny()),
        ("no", Deny()),
        ("n use git instead", Deny("use git instead")),
        ("v", ShowAll()),
        ("i", DenyAndStop()),
        ("i that is enough", DenyAndStop("that is enough")),
        ("e", Edit()),
        ("e git status", Edit("git status")),
        ("s", ShowChoices()),
        ("s 2", AllowSession("Bash(ls *)")),
        ("s 9", ShowChoices()),
        ("s Bash(ls -l)", AllowSession("Bash(ls -l)")),
        ("", None),
        ("yep", None),
        ("y please", None),
        ("ok", None),
    ],
)
def test_only_a_clear_yes_allows(line: str, typed: object) -> None:
    assert understand(BASH, line) == typed


@given(st.text(max_size=12))
def test_no_other_line_is_taken_for_a_yes(line: str) -> None:
    if line.strip().lower() not in ("y", "yes"):
        assert understand(BASH, line) != Allow()


@pytest.mark.parametrize(
    ("prompt", "line", "typed"),
    [
        (COLOUR, "2", Reply("green")),
        (COLOUR, "mauve", Reply("mauve")),
        (COLOUR, "", None),
        (COLOUR, "1,2", Reply("1,2")),
        (COLOURS, "1, 3", Reply("red, blue")),
        (COLOUR, "/deny", Deny()),
    ],
)
def test_a_number_selects_its_option(prompt: Question, line: str, typed: object) -> None:
    assert understand(prompt, line) == typed


@pytest.mark.parametrize(("prompt", "line"), [(COLOUR, "9"), (COLOUR, " 0 "), (COLOURS, "1,9"), (COLOURS, "4")])
def test_a_number_that_is_no_option_is_asked_again(prompt: Question, line: str) -> None:
    assert understand(prompt, line) is None
    assert "from 1 to 3" in prompt.again


def test_a_number_is_an_answer_where_it_is_an_options_name_or_nothing_is_offered() -> None:
    years = v1.UserQuestion(question="When?", options=[v1.QuestionOption(label="2024")])
    assert understand(Question(years), "2024") == Reply("2024")
    assert understand(Question(v1.UserQuestion(question="How many?")), "9") == Reply("9")


def test_an_invalid_answer_lists_the_valid_ones() -> None:
    assert BASH.again == "Invalid answer: type y, s and a number, e, n, i or v"
    plan = Permission(v1.PermissionRequest(tool_name="ExitPlanMode"))
    assert plan.again == "Invalid answer: type y, n, i or v"


def test_offers_are_shown_with_their_numbers() -> None:
    assert BASH.choices() == [
        "    s 1 = for this session, this command: Bash(ls)",
        "    s 2 = for this session, ls with anything: Bash(ls *)",
    ]


def test_nothing_of_a_pattern_reaches_the_terminal_unseen() -> None:
    prompt = Permission(permission("echo \x1b]0;owned\x07\nls").permission_request)
    assert prompt.choices()[0] == "    s 1 = for this session, this command: Bash(echo ␛]0;owned␇ ls)"


def test_a_name_or_a_purpose_of_several_lines_makes_no_line_of_its_own() -> None:
    asked = v1.PermissionRequest(tool_name="Read\n    command: ls", description="to look\nTold", input_json="{}")
    first = Permission(asked).lines()[0]
    assert first == "Read command: ls asks for permission: to look Told"
    start = v1.AgentEvent(tool_call_start=v1.ToolCallStart(tool_id="t", tool_name="Read\nTold"))
    assert Describer().describe(start) == ["● Read Told"]


def test_a_plan_is_neither_edited_nor_granted() -> None:
    plan = Permission(v1.PermissionRequest(tool_name="ExitPlanMode", input_json='{"plan": "1. think\\n2. do"}'))
    assert plan.lines() == ["The agent asks you to approve its plan", "    plan: 1. think", "      2. do"]
    assert plan.question == "Allow? [y = yes, n = no, n REASON, i = no and stop, v = show all] "
    assert (understand(plan, "e"), understand(plan, "s 1")) == (None, None)
    assert understand(plan, "n measure first") == Deny("measure first")


def test_an_input_that_was_cut_is_not_edited() -> None:
    assert understand(Permission(permission().permission_request, was_cut=True), "e ls") is None


def test_important_facts_are_shown() -> None:
    request = v1.PermissionRequest(tool_name="Bash", note="It may have run already")
    assert Permission(request).lines()[-1] == "    Note: It may have run already"
    assert Question(v1.UserQuestion(question="Which?", note="Asked before")).lines() == [
        "Which?",
        "    Note: Asked before",
    ]


def test_the_reason_is_shown_below_the_tool() -> None:
    request = v1.PermissionRequest(tool_name="Bash", input_json='{"command": "ls"}', deciding_rule="no rule covers ls")
    assert Permission(request).lines()[1:] == ["    (reason: no rule covers ls)", "    command: ls"]
    request.deciding_rule = "ask Bash(ls *) (/etc/s.json:4)"
    assert Permission(request).lines()[1] == "    (reason: a rule asks: ask Bash(ls *) (/etc/s.json:4))"


def test_the_input_is_shown_as_the_agent_wrote_it() -> None:
    lines = Permission(permission("echo one\necho two").permission_request).lines()
    assert lines == ["Bash asks for permission", "    command: echo one", "      echo two", "    timeout: 10"]


def test_a_long_input_counts_the_hidden_characters_and_shows_them_on_request() -> None:
    prompt = Permission(permission("\n".join(f"line {n}" for n in range(500))).permission_request)
    assert "more characters" in prompt.lines()[-1]
    assert any("line 499" in line for line in prompt.lines(whole=True))


def test_a_prompt_is_removed_when_someone_answers() -> None:
    desk = OpenPrompts()
    prompt = desk.see(permission())
    assert prompt is not None
    assert desk.current is prompt
    desk.see(resolved("r1"))
    assert desk.current is None


def test_a_prompt_that_is_shown_again_is_the_same_prompt() -> None:
    desk = OpenPrompts()
    assert desk.see(permission()) is not None
    assert desk.see(permission()) is None
    assert len(desk.all) == 1


def test_the_questions_of_a_group_leave_one_by_one_or_together() -> None:
    desk = OpenPrompts()
    first = desk.see(question("First?", 0))
    second = desk.see(question("Second?", 1))
    assert first is not None
    assert second is not None
    desk.done(first)
    assert desk.all == (second,)
    desk.see(resolved("g"))
    assert desk.current is None


def test_a_question_about_the_budget_is_one_sentence_and_an_agents_tool_of_that_name_is_shown_whole() -> None:
    request = v1.PermissionRequest(tool_name="Budget", description="2 of 2 turns spent?", input_json='{"spent": "2"}')
    assert Permission(request).lines() == ["2 of 2 turns spent?"]
    request.tool_use_id = "toolu_1"
    assert Permission(request).lines() == ["Budget asks for permission: 2 of 2 turns spent?", "    spent: 2"]


def test_of_questions_that_are_answered_in_part_only_the_others_are_asked() -> None:
    shown: Sequence[v1.UserQuestion] = [question(text, n).user_question for n, text in enumerate(("One?", "Two?"))]
    group = v1.QuestionGroup(questions=shown, answers={"One?": "red"})
    pending = [v1.PendingPrompt(request_id="g", questions=group)]
    desk, other = OpenPrompts(), OpenPrompts()
    desk.add_pending(pending)
    for number, text in enumerate(("One?", "Two?")):
        other.see(question(text, number))
    other.drop_answered(pending)
    for one in (desk, other):
        assert [prompt.asked.question for prompt in one.all if isinstance(prompt, Question)] == ["Two?"]
