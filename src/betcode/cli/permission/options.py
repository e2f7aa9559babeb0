"""The options of `betcode permission`."""

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from betcode.cli.core.arguments import Commands, Parser


def add_permission(
    commands: "Commands[Parser]",
    noun: "Callable[[Commands[Parser], str, str], Commands[Parser]]",
    command: "Callable[[Commands[Parser], str, str, str], Parser]",
) -> None:
    verbs = noun(commands, "permission", "see and answer what agents ask, in all sessions")
    listing = command(verbs, "list", "list what waits for an answer", "permission.commands:list_pending")
    listing.add_argument("-s", "--session", metavar="ID", help="only of this session")
    answer = command(verbs, "answer", "answer a prompt", "permission.commands:answer")
    answer.add_argument("id", metavar="ID", help="id of a prompt, or the beginning of one")
    how = answer.add_argument_group("the answer").add_mutually_exclusive_group(required=True)
    how.add_argument("--allow", action="store_true", help="this once")
    how.add_argument(
        "--allow-session",
        nargs="?",
        const=True,  # no rule is named; an empty one is no rule
        metavar="RULE",
        help="for the rest of the session: what this rule covers, the offer of that number, or just this use",
    )
    how.add_argument("--deny", action="store_true", help="the agent goes on without it")
    how.add_argument("--edit", metavar="INPUT", help="allow it with this input: JSON, or another shell command")
    how.add_argument(
        "--choose",
        action="append",
        metavar="N",
        help="answer a question with its option N (N,M where several may be chosen); once for each question, in order",
    )
    how.add_argument(
        "--question",
        action="append",
        metavar="QUESTION=ANSWER",
        help="answer one question, named by its number, header or text, in your own words; may be repeated",
    )
    answer.add_argument("--message", metavar="TEXT", help="with --deny: what the agent is told")
    answer.add_argument("--stop", action="store_true", help="with --deny: end the turn")
    answer.add_argument(
        "--equal", action="store_true", help="answer all open prompts with the same tool and input, in all sessions"
    )
    watch = command(verbs, "watch", "show what is asked as it comes, and answer it", "permission.watch:watch")
    watch.add_argument("-s", "--session", metavar="ID", help="only of this session")
