"""Building an answer from command-line options."""

import pytest

from betcode.cli.core.exit_codes import CommandFailed, ExitCode
from betcode.cli.core.options import CommandOptions, options_from
from betcode.cli.core.parser import build_parser
from betcode.cli.permission.answer import Answers, answer_from
from betcode.cli.permission.commands import find_prompt
from betcode.v1 import agent_pb2 as v1
from betcode.wording.prompts import chosen_options

PUSH = v1.PendingPrompt(
    request_id="abcd-1",
    permission=v1.PermissionRequest(
        request_id="abcd-1",
        tool_name="Bash",
        input_json='{"command": "git push", "timeout": 5}',
        grant_offers=[v1.GrantOffer(pattern="Bash(git push)"), v1.GrantOffer(pattern="Bash(git *)")],
    ),
)
_OPTIONS = [v1.QuestionOption(label="red"), v1.QuestionOption(label="blue")]
ASKED = v1.PendingPrompt(
    request_id="abce-2",
    questions=v1.QuestionGroup(
        questions=[
            v1.UserQuestion(question="Which?", header="Colour", options=_OPTIONS, multi_select=True),
            v1.UserQuestion(question="Why=?", header="Reason", options=_OPTIONS),
        ]
    ),
)


def said(*words: str) -> CommandOptions:
    return options_from(build_parser().parse_args(["permission", "answer", "abcd", *words]), {"HOME": "/home/ada"})


def response(*words: str) -> v1.PermissionResponse:
    answer = answer_from(said(*words), PUSH)
    assert isinstance(answer, v1.PermissionResponse)
    return answer


def answers(*words: str) -> dict[str, str]:
    answer = answer_from(said(*words), ASKED)
    assert isinstance(answer, Answers)
    return dict(answer.given)


def test_a_grant_is_named_by_its_number_or_its_rule() -> None:
    assert response("--allow-session", "2").grant_pattern == "Bash(git *)"
    assert response("--allow-session", "Bash(git push *)").grant_pattern == "Bash(git push *)"
    narrowest = response("--allow-session")
    assert (narrowest.decision, narrowest.grant_pattern) == (v1.ALLOW_SESSION, "")


def test_another_command_keeps_the_rest_of_the_input() -> None:
    edited = response("--edit", "git push --dry-run")
    assert edited.decision == v1.ALLOW_WITH_EDIT
    assert edited.updated_input_json == '{"command": "git push --dry-run", "timeout": 5}'


def test_true_is_a_command_and_an_empty_message_is_none() -> None:
    assert response("--edit", "true").updated_input_json == '{"command": "true", "timeout": 5}'
    assert response("--deny", "--message", "").decision == v1.DENY


def test_a_denial_has_a_reason_and_may_stop_the_turn() -> None:
    assert response("--deny", "--message", "no").message == "no"
    assert response("--deny").decision == v1.DENY
    assert response("--deny", "--stop").decision == v1.DENY_WITH_INTERRUPT


def test_questions_are_named_by_number_header_and_text() -> None:
    assert answers("--choose", "2, 1") == {"Which?": "blue, red"}
    assert answers("--choose", "1", "--choose", "2") == {"Which?": "red", "Why=?": "blue"}
    assert answers("--question", "2=since a=b") == {"Why=?": "since a=b"}
    assert answers("--question", "Colour=1", "--question", "Why=?=so") == {"Which?": "red", "Why=?": "so"}


def test_several_options_stay_apart_whatever_they_are_called() -> None:
    options = [v1.QuestionOption(label="red, or so"), v1.QuestionOption(label="blue")]
    asked = v1.UserQuestion(question="Which?", options=options, multi_select=True)
    assert chosen_options(asked, "1,2") == '["red, or so", "blue"]'
    assert chosen_options(asked, "1") == "red, or so"


def test_a_grant_where_a_rule_asks_each_time_is_refused_with_the_rule() -> None:
    each_time = v1.PermissionRequest(tool_name="Bash", deciding_rule="ask Bash(git *) (/s.json:4)")
    with pytest.raises(CommandFailed, match=r"asking each time.*/s\.json:4"):
        answer_from(said("--allow-session"), v1.PendingPrompt(permission=each_time))


@pytest.mark.parametrize(
    ("words", "prompt"),
    [
        (["--allow", "--message", "why"], PUSH),
        (["--allow", "--stop"], PUSH),
        (["--allow-session", "3"], PUSH),
        (["--allow-session", "0"], PUSH),
        (["--allow-session", ""], PUSH),
        (["--allow-session", ""], None),
        (["--edit", ""], PUSH),
        (["--edit="], None),
        (["--edit", " "], PUSH),
        (["--edit", "{}"], PUSH),
        (["--edit", '{"command": " "}'], PUSH),
        (["--edit", "null"], PUSH),
        (["--edit", "[]"], PUSH),
        (["--edit", "5"], PUSH),
        (["--edit", '"ls"'], PUSH),
        (["--edit", "{nonsense"], PUSH),
        (["--edit", "[1]"], v1.PendingPrompt(permission=v1.PermissionRequest(tool_name="Edit", input_json="{}"))),
        (["--choose", "1"], PUSH),
        (["--choose", "3"], ASKED),
        (["--choose", "1", "--choose", "1,2"], ASKED),
        (["--choose", "1", "--choose", "1", "--choose", "1"], ASKED),
        (["--question", "When?=now"], ASKED),
        (["--question", "2="], ASKED),
        (["--choose", "1", "--equal"], ASKED),
    ],
)
def test_an_answer_that_does_not_fit_is_an_invalid_argument(words: list[str], prompt: v1.PendingPrompt | None) -> None:
    with pytest.raises(CommandFailed) as failed:
        answer_from(said(*words), prompt)
    assert failed.value.exit_code is ExitCode.INVALID_ARGUMENTS


def test_too_late_an_answer_goes_to_the_daemon_as_it_was_typed() -> None:
    assert answer_from(said("--question", "Which?= red", "--question", "2=x"), None) == Answers(
        {"Which?": "red", "2": "x"}
    )
    assert answer_from(said("--choose", "1"), None) == Answers({"1": "chosen"})


def test_the_mistake_is_named() -> None:
    with pytest.raises(CommandFailed, match=r"Bash asks for permission: .*--allow or --deny"):
        answer_from(said("--choose", "1"), PUSH)
    with pytest.raises(CommandFailed, match=r"'1,2' is not an option from 1 to 2, just one: Why"):
        answer_from(said("--choose", "1", "--choose", "1,2"), ASKED)


@pytest.mark.parametrize("words", [[], ["--allow", "--deny"], ["--choose", "1", "--question", "2=x"]])
def test_just_one_kind_of_answer_is_given(words: list[str]) -> None:
    with pytest.raises(SystemExit):
        said(*words)


def test_an_id_that_is_the_beginning_of_another_is_not_taken_for_it() -> None:
    both = [v1.PendingPrompt(request_id="cccc0000-1111"), v1.PendingPrompt(request_id="cccc0000")]
    with pytest.raises(CommandFailed, match=r"2 prompt ids begin with 'cccc0000' .*cccc0000# for the first"):
        find_prompt(both, "cccc0000")
    assert find_prompt(both, "cccc0000#") is both[1]
    assert find_prompt(both, "cccc0000-") is both[0]
    assert find_prompt(both[1:], "cccc0000") is both[1]


def test_the_beginning_of_an_id_is_enough_where_it_is_one() -> None:
    both = [PUSH, ASKED]
    assert find_prompt(both, "abcd") is PUSH
    assert find_prompt(both, "abce-2#1") is ASKED
    assert find_prompt(both, "x") is None
    assert find_prompt(both, "") is None
    with pytest.raises(CommandFailed, match="2 prompt ids begin"):
        find_prompt(both, "abc")
