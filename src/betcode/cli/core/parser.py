"""The commands and their options, as a tree that parses, prints help and completes."""

import argparse
import math
from collections.abc import Iterator

from betcode._version import __version__
from betcode.cli.audit.options import add_audit
from betcode.cli.cassette.options import add_cassette
from betcode.cli.config.options import add_config
from betcode.cli.core.arguments import Commands, Parser, commands_of
from betcode.cli.core.examples import EXAMPLES
from betcode.cli.core.remote_options import add_remote
from betcode.cli.daemon.log_options import add_logs
from betcode.cli.daemon.service_options import add_service
from betcode.cli.db.options import add_db
from betcode.cli.permission.options import add_permission
from betcode.cli.run.on_ask import ask_policy, time_limit_s
from betcode.cli.session.budget_options import add_budget_options
from betcode.cli.session.diff_options import add_session_diff
from betcode.cli.session.new_session_options import add_choice_of_agent, add_new_session, add_providers, add_trust
from betcode.cli.version.options import add_versions
from betcode.cli.worktree.completion import WorktreeWord
from betcode.cli.worktree.options import add_worktree
from betcode.config.units import NotUnderstood, duration_s

_EPILOG = """\
Without a command, betcode opens the session of the current directory on a screen; its keys are told by F1.

Exit codes: 0 done, 1 the agent failed or something is broken, 2 no connection to the daemon, 3 permission denied or
left to be answered, 4 rate limited or over budget, 5 invalid arguments, 6 session not found, 7 internal error,
124 out of time, 130 interrupted.

examples:
  betcode                                                  the conversation of this directory
  betcode run "why does the build fail?"                   one turn, and the answer on stdout
  betcode session list                                     what runs, waits and ended
  betcode COMMAND --help                                   more of them
"""
_ID = "id of a session, the beginning of one, or its name"


def build_parser() -> Parser:
    """The whole tree."""
    parser = Parser(
        prog="betcode",
        description="Runs coding agents as durable sessions that any number of clients can watch and answer.",
        epilog=_EPILOG,
    )
    parser.set_defaults(handler="session.attach:open_here")
    parser.add_argument("-V", "--version", action="version", version=f"betcode {__version__}")
    _add_common(parser, top=True)
    parser.add_argument(
        *("-w", "--worktree"),
        action=WorktreeWord,
        dest="open_in",
        metavar="NAME",
        help="open the conversation of this worktree",
    )
    add_choice_of_agent(parser, dest="open_")
    _add_presentation(parser, top=True)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", dest="command")
    _add_run(commands)
    _add_attach(commands)
    _add_session(commands)
    add_worktree(commands, _noun, _command)
    _add_search(commands)
    add_permission(commands, _noun, _command)
    _add_policy(commands)
    add_audit(commands, _noun, _command)
    add_config(commands, _noun, _command)
    _add_daemon(commands)
    add_db(commands, _noun, _command)
    add_cassette(commands, _noun, _command, _ID)
    doctor = _command(
        commands, "doctor", "find problems on this machine and say how to fix them", "doctor.command:doctor"
    )
    doctor.add_argument(
        "--repair",
        action="store_true",
        help="move unusable entries of the runs directory to set-aside; deletes nothing",
    )
    doctor.add_argument("-y", "--yes", action="store_true", help="with --repair: do not ask")
    add_versions(commands, _command)
    add_providers(commands, _command)
    completion = _command(
        commands, "completion", "print a completion script for a shell", "core.completion:print_script"
    )
    completion.add_argument("shell", choices=["bash", "zsh", "fish"])
    for words, command in commands_of(parser):
        command.epilog = f"examples:\n{EXAMPLES[words]}"
    for noun, below in commands.choices.items():
        below.epilog = below.epilog or "\n".join(("examples:", *_first_examples(noun)))
    return parser


def _first_examples(noun: str) -> Iterator[str]:
    """The first of each verb."""
    return (shown.partition("\n")[0] for words, shown in EXAMPLES.items() if words.startswith(f"{noun} "))


def _command(commands: "Commands[Parser]", name: str, says: str, handler: str) -> Parser:
    parser = commands.add_parser(name, help=says, description=says[0].upper() + says[1:] + ".")
    parser.set_defaults(handler=handler)
    _add_common(parser, top=False)
    return parser


def _noun(commands: "Commands[Parser]", name: str, says: str) -> "Commands[Parser]":
    parser = commands.add_parser(name, help=says, description=says[0].upper() + says[1:] + ".")
    return parser.add_subparsers(title="commands", metavar="COMMAND", dest="verb", required=True)


def _add_common(parser: Parser, *, top: bool) -> None:
    """The options that every command takes, before it or after it."""
    group = parser.add_argument_group("places and output")
    for flag, says in (
        ("--socket", "the daemon's socket (BETCODE_SOCKET)"),
        ("--state-dir", "database, journals and log (BETCODE_STATE_DIR)"),
        ("--config-dir", "settings (BETCODE_CONFIG_DIR)"),
        ("--claude-bin", "the claude program, for a daemon that is started (BETCODE_CLAUDE_BIN)"),
    ):
        group.add_argument(flag, metavar="PATH", default=None if top else argparse.SUPPRESS, help=says)
    add_remote(group, top=top)
    for flag, says in (
        ("--json", "print JSON"),
        ("--no-start", "fail when no daemon runs, instead of starting one"),
    ):
        group.add_argument(flag, action="store_true", default=False if top else argparse.SUPPRESS, help=says)


def _add_run(commands: "Commands[Parser]") -> None:
    run = _command(commands, "run", "run one turn and print the answer", "run.command:run")
    run.add_argument("prompt", nargs="?", help="what to say to the agent; - or nothing: read from stdin")
    run.add_argument(
        *("-f", "--file"),
        metavar="FILE",
        help="read the prompt from FILE (- for stdin); appended if PROMPT is also given. Piped stdin is appended too",
    )
    run.add_argument("-s", "--session", metavar="ID", help="continue this session instead of a new one")
    run.add_argument(
        "-c", "--continue", action="store_true", help="continue the newest open session of the directory or worktree"
    )
    run.add_argument(
        "-a", "--attach", metavar="FILE", action="append", help="send this file with the prompt; may be repeated"
    )
    add_new_session(run)
    add_budget_options(run, "what a new session may spend")
    run.add_argument(
        "--on-ask",
        type=ask_policy,
        metavar="deny|park|wait=TIME",
        help="what to do when the agent needs permission: deny, park (exit and leave it pending), or wait=TIME (wait, "
        "then park). Default: ask on a terminal, otherwise deny",
    )
    run.add_argument(
        "--timeout",
        type=time_limit_s,
        metavar="TIME",
        help='stop the turn where it is not over by then, such as "90s" or "10m", and end with 124',
    )
    run.add_argument("-o", "--output", choices=["text", "json", "stream-json"], default="text", help="what to print")


def _add_attach(commands: "Commands[Parser]") -> None:
    attach = _command(commands, "attach", "watch a session, type, answer and cancel", "session.attach:attach")
    attach.add_argument("session", nargs="?", metavar="ID", help=_ID)
    attach.add_argument(
        "-w", "--worktree", action=WorktreeWord, metavar="NAME", help="the session of this worktree, in place of ID"
    )
    add_trust(attach)
    attach.add_argument("--all", action="store_true", help="in lines: show the whole history first, not only its end")
    _add_presentation(attach, top=False)


def _add_presentation(parser: Parser, *, top: bool) -> None:
    for flag, says in (
        ("--plain", "a conversation in lines in place of the screen; as without a terminal, or with TERM=dumb"),
        ("--no-mouse", "leave the mouse to the terminal"),
    ):
        parser.add_argument(flag, action="store_true", default=False if top else argparse.SUPPRESS, help=says)


def _add_session(commands: "Commands[Parser]") -> None:
    verbs = _noun(commands, "session", "list, show, stop, name, export and delete sessions; what they may spend and do")
    new = _command(verbs, "new", "make a session and print its id; nothing runs yet", "session.new:new")
    new.add_argument("--name", metavar="NAME", help="what it is called")
    add_new_session(new)
    add_budget_options(new, "what it may spend")
    listing = _command(verbs, "list", "list sessions, newest first", "session.commands:list_sessions")
    listing.add_argument("--here", action="store_true", help="only those of the current directory")
    listing.add_argument("-C", "--cwd", metavar="DIR", help="only those of this directory")
    listing.add_argument("-w", "--worktree", action=WorktreeWord, metavar="NAME", help="only those of this worktree")
    listing.add_argument(
        "--status", action="append", choices=["new", "active", "idle", "closed"], help="only these; may be repeated"
    )
    listing.add_argument("--limit", type=_count, default=50, metavar="N", help="at most so many (50)")
    listing.add_argument("--offset", type=_count, default=0, metavar="N", help="pass over the first N")
    show = _command(verbs, "show", "show what is known of a session, and its conversation", "session.commands:show")
    show.add_argument("session", metavar="ID", help=_ID)
    show.add_argument("--all", action="store_true", help="also what was compacted")
    follow = _command(verbs, "follow", "print events as they come", "session.commands:follow")
    follow.add_argument("session", metavar="ID", help=_ID)
    follow.add_argument("--after", type=_count, default=0, metavar="SEQ", help="begin after this event (0: all)")
    follow.add_argument(
        "--until-idle",
        action="store_true",
        help="end when no turn is open (one that waits for you is) and all was printed",
    )
    compact = _command(verbs, "compact", "have the agent shorten its context to a summary", "session.compact:compact")
    compact.add_argument("session", metavar="ID", help=_ID)
    close = _command(verbs, "close", "end a session's agent and take no further input", "session.commands:close")
    close.add_argument("session", metavar="ID", help=_ID)
    cancel = _command(verbs, "cancel", "stop the open turn; again, with more force", "session.commands:cancel")
    cancel.add_argument("session", metavar="ID", help=_ID)
    cancel.add_argument("--queued", action="store_true", help="cancel the messages that wait behind it too")
    lock = _command(verbs, "lock", "ask the client that types in a session to let go", "session.commands:lock")
    lock.add_argument("session", metavar="ID", help=_ID)
    rename = _command(verbs, "rename", "give a session a name", "session.history_commands:rename")
    rename.add_argument("session", metavar="ID", help=_ID)
    rename.add_argument("name", metavar="NAME", help="one line; an empty one takes the name away")
    export = _command(verbs, "export", "write a session's whole history as one file", "session.history_commands:export")
    export.add_argument("session", metavar="ID", help=_ID)
    export.add_argument("--format", choices=["json", "markdown", "html"], help="json, unless FILE ends in .md or .html")
    export.add_argument("-o", "--output", metavar="FILE", help="where to write it (stdout)")
    export.add_argument("--raw", action="store_true", help="keep what looks like a secret in tools' inputs")
    fork = _command(verbs, "fork", "go on from a turn of a session in a new one", "session.history_commands:fork")
    fork.add_argument("session", metavar="ID", help=_ID)
    fork.add_argument(
        "--at",
        type=_count,
        default=0,
        metavar="SEQ",
        help="the turn that ended with this event or before; session show --json has the numbers (newest)",
    )
    fork.add_argument("--name", default="", metavar="NAME", help="of the new session")
    budget = _command(verbs, "budget", "show what a session may spend, or change it", "session.budget:budget")
    budget.add_argument("session", metavar="ID", help=_ID)
    add_budget_options(budget, "limits; 0 is none, and what is not named stays")
    budget.add_argument("--none", action="store_true", help="take all limits away")
    grants = _command(verbs, "grants", "show what was allowed for the rest of a session", "session.grants:grants")
    grants.add_argument("session", metavar="ID", help=_ID)
    grants.add_argument(
        "--clear",
        nargs="?",
        const="",
        metavar="WHAT",
        help="take it back: of this tool or this rule, or all where none is named",
    )
    add_session_diff(verbs, _command, _ID)
    delete = _command(verbs, "delete", "end a session and forget its history", "session.history_commands:delete")
    delete.add_argument("session", metavar="ID", help=_ID)
    delete.add_argument("-y", "--yes", action="store_true", help="do not ask")


def _add_search(commands: "Commands[Parser]") -> None:
    search = _command(commands, "search", "find what was said in any session", "session.history_commands:search")
    search.add_argument("query", metavar="QUERY", nargs="+", help='words, "a phrase", or the beginning of a word*')
    search.add_argument("-s", "--session", metavar="ID", help="only in this session")
    search.add_argument("--limit", type=_count, default=20, metavar="N", help="at most so many hits (20)")
    search.add_argument("--offset", type=_count, default=0, metavar="N", help="pass over the first N")


def _add_policy(commands: "Commands[Parser]") -> None:
    verbs = _noun(commands, "policy", "ask what the rules say, and trust projects")
    check = _command(verbs, "check", "say what would happen to a use of a tool, and why", "policy.commands:check")
    check.add_argument("use", nargs="?", metavar="TOOL(WHAT)", help='such as "Bash(git push)" or "Edit(src/a.py)"')
    check.add_argument("--tool", metavar="NAME", help="the same by the tool's name and --input")
    check.add_argument("--input", metavar="JSON", help="with --tool: its input, as the agent writes it")
    check.add_argument("-C", "--dir", dest="cwd", metavar="DIR", help="for a new session in DIR (the current one)")
    check.add_argument("-s", "--session", metavar="ID", help="for this session, with what was granted in it")
    listing = _command(verbs, "list", "list the rules in force, and where each stands", "policy.list:list_rules")
    listing.add_argument("-C", "--dir", dest="cwd", metavar="DIR", help="for a new session in DIR (the current one)")
    listing.add_argument("-s", "--session", metavar="ID", help="for this session")
    attempt = _command(verbs, "try", "say what other rules would have changed", "policy.dry_run:try_rules")
    attempt.add_argument("file", metavar="FILE", help="a settings file: its rules in place of all that count now")
    attempt.add_argument("--since", type=_since_s, default=_since_s("30d"), metavar="TIME", help='such as "12h" (30d)')
    attempt.add_argument("--limit", type=_count, default=50, metavar="N", help="show at most so many uses (50)")
    for verb, says in (
        ("trust", "load a project's hooks, MCP servers, environment, plugins, allow rules and worktree setups"),
        ("untrust", "no longer trust a project"),
    ):
        command = _command(verbs, verb, says, f"policy.commands:{verb}")
        command.add_argument("cwd", metavar="DIR", help="the project's directory")
    _command(verbs, "trusted", "list the projects that are trusted", "policy.commands:list_trusted")


def _add_daemon(commands: "Commands[Parser]") -> None:
    verbs = _noun(commands, "daemon", "start, stop, restart and look at the daemon")
    _add_set(_command(verbs, "run", "run the daemon in the foreground", "daemon.commands:run"))
    _add_set(_command(verbs, "start", "start the daemon and return when it serves", "daemon.commands:start"))
    stop = _command(verbs, "stop", "stop the daemon; agents at work go on", "daemon.stop:stop")
    stop.add_argument("--agents", action="store_true", help="end all agents too, with everything they started")
    again = _command(verbs, "restart", "stop the daemon and start it anew; agents go on", "daemon.stop:restart")
    again.add_argument("--agents", action="store_true", help="end all agents in between")
    _add_set(again)
    _command(verbs, "status", "say whether the daemon runs, and how it is", "daemon.status:status")
    add_logs(verbs, _command, _count)
    add_service(verbs, _command)


def _add_set(parser: Parser) -> None:
    parser.add_argument(
        "--set", action="append", metavar="KEY=VALUE", help="a setting that stands above all files; may be repeated"
    )


def _since_s(text: str) -> int:
    try:
        return math.ceil(duration_s(text))
    except NotUnderstood as trouble:
        raise argparse.ArgumentTypeError(f"{text!r} is not {trouble}") from None


def _count(text: str) -> int:
    number = int(text) if text.isascii() and text.isdigit() else -1
    if not 0 <= number < 2**32:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0 up")
    return number
