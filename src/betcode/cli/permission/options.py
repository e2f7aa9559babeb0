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
    verbs = noun(commands, "permission", "list and answer the prompts of all sessions")
    listing = command(verbs, "list", "list pending prompts", "permission.commands:list_pending")
    listing.add_argument("-s", "--session", metavar="ID", help="only of this session")
    answer = command(verbs, "answer", "answer a prompt", "permission.commands:answer")
    answer.add_argument("id", metavar="ID", help="id of a prompt, or a unique prefix of it")
    how = answer.add_argument_group("the answer").add_mutually_exclusive_group(required=True)
    how.add_argument("--allow", action="store_true", help="allow it once")
    how.add_argument(
        "--allow-session",
        nargs="?",
        const=True,  # True: without a rule; an empty text would be an invalid rule
        metavar="RULE",
        help="allow for the rest of the session: calls that RULE covers, the offer with that "
        "number, or exactly this call",
    )
    how.add_argument("--deny", action="store_true", help="deny it; the agent continues without it")
    how.add_argument("--edit", metavar="INPUT", help="allow it with a changed input: JSON, or a shell command")
    how.add_argument(
        "--choose",
        action="append",
        metavar="N",
        help="choose option N of a question (N,M for several); repeat for each question, in order",
    )
    how.add_argument(
        "--question",
        action="append",
        metavar="QUESTION=ANSWER",
        help="answer a question (its number, header or text) in your own words; may be repeated",
    )
    answer.add_argument("--message", metavar="TEXT", help="with --deny: message to the agent")
    answer.add_argument("--stop", action="store_true", help="with --deny: also stop the turn")
    answer.add_argument(
        "--equal", action="store_true", help="answer all open prompts with the same tool and input, in all sessions"
    )
    watch = command(verbs, "watch", "show new prompts as they arrive, and answer them", "permission.watch:watch")
    watch.add_argument("-s", "--session", metavar="ID", help="only of this session")
