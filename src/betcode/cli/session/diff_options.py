"""The options of `betcode session diff` and `betcode worktree diff`."""

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING

from betcode.cli.worktree.completion import WorktreeArgument

if TYPE_CHECKING:
    from betcode.cli.core.arguments import Commands, Parser


def add_session_diff(
    verbs: "Commands[Parser]", command: "Callable[[Commands[Parser], str, str, str], Parser]", says: str
) -> None:
    diff = command(verbs, "diff", "show what a session changed in its worktree", "session.diff:diff_session")
    diff.add_argument("session", metavar="ID", help=says)
    diff.add_argument(
        "--turn", type=_turn, default=0, metavar="N", help="only changes of turn N; the first is 1 (all turns)"
    )
    _add_stat(diff)


def add_worktree_diff(
    verbs: "Commands[Parser]", command: "Callable[[Commands[Parser], str, str, str], Parser]", says: str
) -> None:
    diff = command(
        verbs, "diff", "show the changes of a worktree against its base, committed or not", "session.diff:diff_worktree"
    )
    diff.add_argument("name", action=WorktreeArgument, nargs="?", default=".", metavar="NAME", help=f"{says} (.)")
    diff.add_argument(
        "--base", metavar="COMMIT", help="branch, tag or commit to compare with (where the branch was created)"
    )
    _add_stat(diff)
    diff.add_argument("-C", "--dir", dest="cwd", metavar="DIR", help="repository (the current one)")


def _turn(text: str) -> int:
    number = int(text) if text.isascii() and text.isdigit() else 0
    if not 0 < number < 2**32:
        raise argparse.ArgumentTypeError(f"{text!r} is not a turn: the first is 1")
    return number


def _add_stat(diff: "Parser") -> None:
    diff.add_argument("--stat", action="store_true", help="print only file names and line counts")
