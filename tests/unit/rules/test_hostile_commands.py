"""Commands that are made to look innocent. None of them may slip through rules that were meant for something else."""

import pytest

from betcode.rules import ScreenOutcome
from support.attacks.commands import HOSTILE
from support.attacks.scripts import SEVERAL_LINES
from support.rules.rules import rules, screened

INNOCENT = (
    "Bash(git *)",
    "Bash(npm run test:*)",
    "Bash(npm test)",
    "Bash(ls *)",
    "Bash(cat *)",
    "Bash(echo *)",
    "Bash(grep *)",
    "Bash(find *)",
    "Bash(pwd)",
    "Bash(sort *)",
    "Bash(printf *)",
    "Bash(tar *)",
    "Bash(bash *)",
    "Bash(xargs *)",
    "Bash(env *)",
    "Bash(sudo *)",
    "Bash(timeout *)",
    "Bash(eval *)",
    "Edit(src/**)",
    "Read",
)

ALL = [command for command in (*HOSTILE, *SEVERAL_LINES) if command]


_rules = rules(allow=INNOCENT)
_with_deny = rules(allow=[*INNOCENT, "Bash"], deny=["Bash(rm *)"])


def test_the_table_is_long() -> None:
    assert len(set(ALL)) >= 300


@pytest.mark.parametrize("command", ALL, ids=range(len(ALL)))
def test_nothing_hostile_slips_through(command: str) -> None:
    verdict = screened(command, _rules)
    assert verdict.outcome is ScreenOutcome.ASK, (command, verdict.reason)


NAMED = [command for command in ALL if "rm -rf" in command]


@pytest.mark.parametrize("command", NAMED, ids=range(len(NAMED)))
def test_a_denied_program_never_runs_where_everything_else_may(command: str) -> None:
    verdict = screened(command, _with_deny)
    assert verdict.outcome is not ScreenOutcome.ALLOW, command
