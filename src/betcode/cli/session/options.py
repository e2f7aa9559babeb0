"""The options of `betcode session`, `betcode attach` and `betcode search`."""

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING

from betcode.cli.core.argument_types import SESSION_ID, count
from betcode.cli.session.budget_options import add_budget_options
from betcode.cli.session.diff_options import add_session_diff
from betcode.cli.session.new_session_options import add_new_session, add_trust
from betcode.cli.worktree.completion import WorktreeArgument

if TYPE_CHECKING:
    from betcode.cli.core.arguments import Commands, Parser


def add_session(
    commands: "Commands[Parser]",
    noun: "Callable[[Commands[Parser], str, str], Commands[Parser]]",
    command: "Callable[[Commands[Parser], str, str, str], Parser]",
) -> None:
    verbs = noun(
        commands, "session", "list, show, stop, rename, export and delete sessions; change their limits and grants"
    )
    new = command(verbs, "new", "create a session and print its id; no agent starts yet", "session.new:new")
    new.add_argument("--name", metavar="NAME", help="name of the session")
    add_new_session(new)
    add_budget_options(new, "limits")
    listing = command(verbs, "list", "list sessions, newest first", "session.list:list_sessions")
    listing.add_argument("--here", action="store_true", help="only sessions of the current directory")
    listing.add_argument("-C", "--cwd", metavar="DIR", help="only sessions of this directory")
    listing.add_argument(
        "-w", "--worktree", action=WorktreeArgument, metavar="NAME", help="only sessions of this worktree"
    )
    listing.add_argument(
        "--status",
        action="append",
        choices=["new", "active", "idle", "closed"],
        help="only sessions with this status; may be repeated",
    )
    listing.add_argument("--limit", type=count, default=50, metavar="N", help="show at most N sessions (50)")
    listing.add_argument("--offset", type=count, default=0, metavar="N", help="skip the first N")
    show = command(verbs, "show", "show a session's details and its conversation", "session.commands:show")
    show.add_argument("session", metavar="ID", help=SESSION_ID)
    show.add_argument("--all", action="store_true", help="include the history before compaction")
    follow = command(verbs, "follow", "print events as they arrive", "session.commands:follow")
    follow.add_argument("session", metavar="ID", help=SESSION_ID)
    follow.add_argument(
        "--after", type=count, default=0, metavar="SEQ", help="start after this event (0: from the beginning)"
    )
    follow.add_argument(
        "--until-idle",
        action="store_true",
        help="exit when no turn is open and everything is printed (a turn that waits for an answer is open)",
    )
    compact = command(verbs, "compact", "have the agent summarize its context", "session.compact:compact")
    compact.add_argument("session", metavar="ID", help=SESSION_ID)
    close = command(verbs, "close", "end a session's agent and accept no more messages", "session.commands:close")
    close.add_argument("session", metavar="ID", help=SESSION_ID)
    cancel = command(verbs, "cancel", "stop the open turn; run it again to force it", "session.commands:cancel")
    cancel.add_argument("session", metavar="ID", help=SESSION_ID)
    cancel.add_argument("--queued", action="store_true", help="also cancel queued messages")
    lock = command(verbs, "lock", "request the input lock of a session from its holder", "session.commands:lock")
    lock.add_argument("session", metavar="ID", help=SESSION_ID)
    rename = command(verbs, "rename", "give a session a name", "session.history_commands:rename")
    rename.add_argument("session", metavar="ID", help=SESSION_ID)
    rename.add_argument("name", metavar="NAME", help="new name, one line; empty removes the name")
    export = command(verbs, "export", "write a session's whole history to a file", "session.history_commands:export")
    export.add_argument("session", metavar="ID", help=SESSION_ID)
    export.add_argument(
        "--format", choices=["json", "markdown", "html"], help="default: json, or by the suffix of FILE (.md, .html)"
    )
    export.add_argument("-o", "--output", metavar="FILE", help="output file (stdout)")
    export.add_argument("--raw", action="store_true", help="do not redact secrets in tool inputs")
    fork = command(
        verbs, "fork", "create a session that continues from a turn of another", "session.history_commands:fork"
    )
    fork.add_argument("session", metavar="ID", help=SESSION_ID)
    fork.add_argument(
        "--at",
        type=count,
        default=0,
        metavar="SEQ",
        help="fork after the last turn that ended at or before this event; `session show --json` lists the numbers "
        "(default: the newest turn)",
    )
    fork.add_argument("--name", default="", metavar="NAME", help="name of the new session")
    budget = command(verbs, "budget", "show or change the limits of a session", "session.budget:budget")
    budget.add_argument("session", metavar="ID", help=SESSION_ID)
    add_budget_options(budget, "limits (0: no limit; limits that are not given do not change)")
    budget.add_argument("--none", action="store_true", help="remove all limits")
    grants = command(verbs, "grants", "show what is allowed for the rest of a session", "session.grants:grants")
    grants.add_argument("session", metavar="ID", help=SESSION_ID)
    grants.add_argument(
        "--clear",
        nargs="?",
        const="",
        metavar="WHAT",
        help="revoke the grants of this tool or rule (default: all grants)",
    )
    add_session_diff(verbs, command, SESSION_ID)
    delete = command(verbs, "delete", "end a session and delete its history", "session.history_commands:delete")
    delete.add_argument("session", metavar="ID", help=SESSION_ID)
    delete.add_argument("-y", "--yes", action="store_true", help="do not ask")


def add_attach(commands: "Commands[Parser]", command: "Callable[[Commands[Parser], str, str, str], Parser]") -> None:
    attach = command(commands, "attach", "watch a session, type, answer and cancel", "session.attach:attach")
    attach.add_argument("session", nargs="?", metavar="ID", help=SESSION_ID)
    attach.add_argument(
        "-w",
        "--worktree",
        action=WorktreeArgument,
        metavar="NAME",
        help="attach to the session of this worktree instead of ID",
    )
    add_trust(attach)
    attach.add_argument(
        "--all", action="store_true", help="with --plain: print the whole history first, not only the end"
    )
    add_presentation(attach, top=False)


def add_presentation(parser: "Parser", *, top: bool) -> None:
    for flag, says in (
        ("--plain", "print lines instead of the full screen (default without a terminal or with TERM=dumb)"),
        ("--no-mouse", "do not capture the mouse"),
    ):
        parser.add_argument(flag, action="store_true", default=False if top else argparse.SUPPRESS, help=says)


def add_search(commands: "Commands[Parser]", command: "Callable[[Commands[Parser], str, str, str], Parser]") -> None:
    search = command(commands, "search", "search the text of all sessions", "session.history_commands:search")
    search.add_argument("query", metavar="QUERY", nargs="+", help='words, "a phrase", or a prefix*')
    search.add_argument("-s", "--session", metavar="ID", help="search only this session")
    search.add_argument("--limit", type=count, default=20, metavar="N", help="show at most N matches (20)")
    search.add_argument("--offset", type=count, default=0, metavar="N", help="skip the first N")
