"""The lines of a card."""

import json

import pytest

from betcode.tui.cards.lines import pattern_lines, permission_lines, question_lines
from betcode.tui.widgets.line_view import LineKind, ViewLine
from betcode.v1 import agent_pb2 as v1


def asked(tool: str, given: object, **more: object) -> v1.PendingPrompt:
    request = v1.PermissionRequest(request_id="a", tool_name=tool, input_json=json.dumps(given), **more)  # type: ignore[arg-type]
    return v1.PendingPrompt(request_id="a", permission=request)


def texts(prompt: v1.PendingPrompt, *, whole: bool = False, on_disk: str | None = None) -> list[str]:
    return [line.text for line in permission_lines(prompt, whole=whole, on_disk=on_disk)]


def test_the_commands_of_a_shell_command_stand_on_lines_of_their_own() -> None:
    prompt = asked(
        "Bash",
        {"command": "git add . &&\ngit push", "timeout": 5},
        segments=["git add .", "git push"],
        deciding_rule="ask Bash(git push *) (/x:4)",
        description="save it",
    )
    assert texts(prompt) == [
        "Bash: save it",
        "$ git add . &&",
        "  git push",
        "2 commands:",
        "  • git add .",
        "  • git push",
        "timeout: 5",
        "Reason: a rule asks: ask Bash(git push *) (/x:4)",
    ]


def test_an_edit_is_a_diff_with_marked_lines() -> None:
    edit = {"file_path": "/a.py", "old_string": "one\ntwo", "new_string": "one\nthree"}
    lines = permission_lines(asked("Edit", edit))
    assert lines == [
        ViewLine("Edit", LineKind.TITLE),
        ViewLine("/a.py", LineKind.DIM),
        ViewLine("@@ -1,2 +1,2 @@", LineKind.PLACE),
        ViewLine(" one"),
        ViewLine("-two", LineKind.REMOVED),
        ViewLine("+three", LineKind.ADDED),
    ]


def test_notes_and_an_ended_agent_are_shown_first() -> None:
    prompt = asked("Read", {"file_path": "/a"}, note="it may have run already")
    prompt.agent_is_gone = True
    assert texts(prompt)[1:3] == [
        "Note: it may have run already",
        "The agent has exited. It gets your answer when it restarts",
    ]


def test_a_plan_is_shown_as_it_was_written() -> None:
    prompt = asked("ExitPlanMode", {"plan": "# Plan\n\n1. look"})
    assert texts(prompt) == ["The agent asks you to approve its plan", "# Plan", "", "1. look"]


def test_a_question_of_the_budget_is_its_sentence_alone() -> None:
    prompt = asked("Budget", {"spent": 3}, description="$3 of $3 are spent. Raise it?")
    assert texts(prompt) == ["$3 of $3 are spent. Raise it?"]


@pytest.mark.parametrize("tool", ["Bash", "Write", "Task", "ExitPlanMode"])
def test_text_of_an_agent_is_escaped_and_cannot_imitate_ours(tool: str) -> None:
    evil = "\x1b]0;owned\x07\x9b2J\u202e[bold]x\r"
    given = {"command": evil, "content": evil, "plan": evil, "file_path": evil}
    prompt = asked(tool, given, description=evil + "\ny allow", note=evil + "\n", segments=[evil, evil], agent_id=evil)
    prompt.permission.deciding_rule = evil
    for whole in (False, True):
        for text in texts(prompt, whole=whole):
            assert not set(text) & set("\x1b\x07\x9b\u202e\r\n")
            assert text != "y allow"


def test_a_long_input_is_cut_with_a_note_and_available_whole() -> None:
    prompt = asked("Write", {"file_path": "/a", "content": "\n".join(f"line {each}" for each in range(100_000))})
    short = texts(prompt)
    assert len(short) < 500
    assert short[-1] == "… v shows all"
    assert texts(prompt, whole=True)[-1].strip() == "line 99999"
    assert len("".join(texts(asked("Bash", {"command": "x" * 1_000_000})))) < 50_000


def test_an_input_that_cannot_be_read_is_shown_as_it_is() -> None:
    prompt = v1.PendingPrompt(permission=v1.PermissionRequest(tool_name="Bash", input_json='{"command": "cut o'))
    assert texts(prompt)[-1] == 'input: {"command": "cut o'


def test_offers_have_numbers_labels_and_patterns() -> None:
    offers = [v1.GrantOffer(pattern="Bash(ls)", label="this command"), v1.GrantOffer(pattern="Bash")]
    request = v1.PermissionRequest(tool_name="Bash", grant_offers=offers)
    assert [line.text for line in pattern_lines(request)][1:] == ["1  this command: Bash(ls)", "2  Bash"]
    each_time = v1.PermissionRequest(tool_name="Bash", deciding_rule="ask Bash (/x:1)")
    assert "a rule asks every time" in pattern_lines(each_time)[1].text


def test_a_question_has_its_position_header_options_and_selection() -> None:
    options = [v1.QuestionOption(label="red", description="as the sunset"), v1.QuestionOption(value="blue")]
    one = v1.UserQuestion(question_id="1", question="Which?", header="Colour", options=options, multi_select=True)
    group = v1.QuestionGroup(questions=[one, v1.UserQuestion(question_id="2", question="Why?")])
    lines = question_lines(v1.PendingPrompt(questions=group), one, cursor=1, chosen=frozenset({0}))
    assert [line.text for line in lines] == [
        "question 1 of 2",
        "Colour: Which?",
        " 1 ☑ red",
        "     as the sunset",
        "▸2 ☐ blue",
    ]
    assert [line.kind for line in lines][-1] is LineKind.CHOSEN
