"""What a command is taken apart into, and what is left alone because the grammar and the shell may differ."""

import pytest

from betcode.rules.syntax.commands import Script, Unclear
from betcode.rules.syntax.shell import taken_apart

UNCLEAR = [
    "cat <<E\nE \nls\nE",  # the grammar takes a blank after the end for the end
    "cat <<E\n E\nE \n",
    "'a'\\b",  # two words to the grammar, one to the shell
    "a\\\nb",
    "-f2>&1 a",
    "{}",
    "a >b c",
    "a &&",
    "1x=1 a",
    "a\u00a0b",
    "a b\u200b",
    "[[ $x -eq 1 ]]",
    "echo $((x))",
    "echo ${x@P}",
    "a <<A <<B\nA\nB",
    "a;" * 2 + "cd x;" * 9,
    "x" * 10_001,
]


@pytest.mark.parametrize("text", UNCLEAR, ids=range(len(UNCLEAR)))
def test_what_may_be_read_in_two_ways_is_unclear(text: str) -> None:
    found = taken_apart(text)
    assert isinstance(found, Unclear), found
    assert found.reason


@pytest.mark.parametrize(
    ("text", "commands"),
    [
        ("a 'b c' \"d\"e $f", [["a", "b c", "de", None]]),
        ("a | b && c; d & e", [["a"], ["b"], ["c"], ["d"], ["e"]]),
        ("a $(b `c`)", [["c"], ["b", None], ["a", None]]),
        ("timeout 5 env X=1 a", [["timeout", "5", "env", "X=1", "a"], ["env", "X=1", "a"], ["a"]]),
        ("bash -c 'a; b'", [["bash", "-c", "a; b"], ["a"], ["b"]]),
        ("find . -exec a {} +", [["find", ".", "-exec", "a", "{}", "+"], ["a", None, None]]),
    ],
)
def test_every_command_is_found_with_its_words(text: str, commands: list[list[str | None]]) -> None:
    found = taken_apart(text)
    assert isinstance(found, Script)
    assert [[word.value for word in part.command.words] for part in found.all()] == commands


def test_files_and_variables_are_told_apart_from_commands() -> None:
    found = taken_apart("x=1; a >b 2>>c <d &>/dev/null 2>&1; cd y")
    assert isinstance(found, Script)
    assert [word.value for word in found.writes] == ["b", "c"]
    assert [word.value for word in found.reads] == ["d"]
    assert [assigned.name for assigned in found.assignments] == ["x"]
    assert found.moves
