"""The command tree: arguments, help and completion."""

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
from betcode.cli.worktree.completion import WorktreeArgument
from betcode.cli.worktree.options import add_worktree
from betcode.config.units import NotUnderstood, duration_s

_EPILOG = """\
Without a command, betcode opens the session of the current directory on a screen. F1 shows the keys.

Exit codes: 0 success, 1 the agent failed or a check found problems, 2 no connection to the daemon,
3 permission denied or left pending, 4 rate limited or over budget, 5 invalid arguments, 6 session not found,
7 internal error, 124 timed out, 130 interrupted.

examples:
  betcode                                                  the conversation of this directory
  betcode run "why does the build fail?"                   one turn, and the answer on stdout
  betcode session list                                     sessions and their states
  betcode COMMAND --help                                   options and examples
"""
_ID = "session id, a unique prefix of it, or the session's name"


def build_parser() -> Parser:
    """Return the whole command tree."""
    parser = Parser(
        prog="betcode",
        description="Run coding agents as durable sessions that any number of clients can watch and answer.",
        epilog=_EPILOG,
    )
    parser.set_defaults(handler="session.attach:open_here")
    parser.add_argument("-V", "--version", action="version", version=f"betcode {__version__}")
    _add_common(parser, top=True)
    parser.add_argument(
        *("-w", "--worktree"),
        action=WorktreeArgument,
        dest="open_in",
        metavar="NAME",
        help="open the session of this worktree",
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
    doctor = _command(commands, "doctor", "find problems on this machine and suggest fixes", "doctor.command:doctor")
    doctor.add_argument(
        "--repair",
        action="store_true",
        help="move unusable entries of the runs directory to set-aside; deletes nothing",
    )
    doctor.add_argument("-y", "--yes", action="store_true", help="with --repair: do not ask for confirmation")
    add_versions(commands, _command)
    add_providers(commands, _command)
    completion = _command(
        commands, "completion", "print a completion script for a shell", "completion.scripts:print_script"
    )
    completion.add_argument("shell", choices=["bash", "zsh", "fish"])
    for words, command in commands_of(parser):
        command.epilog = f"examples:\n{EXAMPLES[words]}"
    for noun, below in commands.choices.items():
        below.epilog = below.epilog or "\n".join(("examples:", *_first_examples(noun)))
    return parser


def _first_examples(noun: str) -> Iterator[str]:
    """Yield the first example of each verb."""
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
    """Add the options that every command accepts, before or after its name."""
    group = parser.add_argument_group("connection, paths and output")
    for flag, says in (
        ("--socket", "socket of the daemon (BETCODE_SOCKET)"),
        ("--state-dir", "directory of database, journals and log (BETCODE_STATE_DIR)"),
        ("--config-dir", "directory of the settings (BETCODE_CONFIG_DIR)"),
        ("--claude-bin", "claude program for a daemon that this command starts (BETCODE_CLAUDE_BIN)"),
    ):
        group.add_argument(flag, metavar="PATH", default=None if top else argparse.SUPPRESS, help=says)
    add_remote(group, top=top)
    for flag, says in (
        ("--json", "print JSON"),
        ("--no-start", "fail if no daemon is running, instead of starting one"),
    ):
        group.add_argument(flag, action="store_true", default=False if top else argparse.SUPPRESS, help=says)


def _add_run(commands: "Commands[Parser]") -> None:
    run = _command(commands, "run", "run one turn and print the answer", "run.command:run")
    run.add_argument("prompt", nargs="?", help="message to the agent; read from stdin if omitted or -")
    run.add_argument(
        *("-f", "--file"),
        metavar="FILE",
        help="read the prompt from FILE (- for stdin); appended if PROMPT is also given. Piped stdin is appended too",
    )
    run.add_argument("-s", "--session", metavar="ID", help="continue this session instead of creating one")
    run.add_argument(
        "-c", "--continue", action="store_true", help="continue the newest open session of the directory or worktree"
    )
    run.add_argument(
        "-a", "--attach", metavar="FILE", action="append", help="send this file with the prompt; may be repeated"
    )
    add_new_session(run)
    add_budget_options(run, "limits of a new session")
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
        help='stop the turn after this time, such as "90s" or "10m", and exit with 124',
    )
    run.add_argument("-o", "--output", choices=["text", "json", "stream-json"], default="text", help="output format")


def _add_attach(commands: "Commands[Parser]") -> None:
    attach = _command(commands, "attach", "watch a session, type, answer and cancel", "session.attach:attach")
    attach.add_argument("session", nargs="?", metavar="ID", help=_ID)
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
    _add_presentation(attach, top=False)


def _add_presentation(parser: Parser, *, top: bool) -> None:
    for flag, says in (
        ("--plain", "print lines instead of the full screen (default without a terminal or with TERM=dumb)"),
        ("--no-mouse", "do not capture the mouse"),
    ):
        parser.add_argument(flag, action="store_true", default=False if top else argparse.SUPPRESS, help=says)


def _add_session(commands: "Commands[Parser]") -> None:
    verbs = _noun(
        commands, "session", "list, show, stop, rename, export and delete sessions; change their limits and grants"
    )
    new = _command(verbs, "new", "create a session and print its id; no agent starts yet", "session.new:new")
    new.add_argument("--name", metavar="NAME", help="name of the session")
    add_new_session(new)
    add_budget_options(new, "limits")
    listing = _command(verbs, "list", "list sessions, newest first", "session.commands:list_sessions")
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
    listing.add_argument("--limit", type=_count, default=50, metavar="N", help="show at most N sessions (50)")
    listing.add_argument("--offset", type=_count, default=0, metavar="N", help="skip the first N")
    show = _command(verbs, "show", "show a session's details and its conversation", "session.commands:show")
    show.add_argument("session", metavar="ID", help=_ID)
    show.add_argument("--all", action="store_true", help="include the history before compaction")
    follow = _command(verbs, "follow", "print events as they arrive", "session.commands:follow")
    follow.add_argument("session", metavar="ID", help=_ID)
    follow.add_argument(
        "--after", type=_count, default=0, metavar="SEQ", help="start after this event (0: from the beginning)"
    )
    follow.add_argument(
        "--until-idle",
        action="store_true",
        help="exit when no turn is open and everything is printed (a turn that waits for an answer is open)",
    )
    compact = _command(verbs, "compact", "have the agent summarize its context", "session.compact:compact")
    compact.add_argument("session", metavar="ID", help=_ID)
    close = _command(verbs, "close", "end a session's agent and accept no more messages", "session.commands:close")
    close.add_argument("session", metavar="ID", help=_ID)
    cancel = _command(verbs, "cancel", "stop the open turn; run it again to force it", "session.commands:cancel")
    cancel.add_argument("session", metavar="ID", help=_ID)
    cancel.add_argument("--queued", action="store_true", help="also cancel queued messages")
    lock = _command(verbs, "lock", "request the input lock of a session from its holder", "session.commands:lock")
    lock.add_argument("session", metavar="ID", help=_ID)
    rename = _command(verbs, "rename", "give a session a name", "session.history_commands:rename")
    rename.add_argument("session", metavar="ID", help=_ID)
    rename.add_argument("name", metavar="NAME", help="new name, one line; empty removes the name")
    export = _command(verbs, "export", "write a session's whole history to a file", "session.history_commands:export")
    export.add_argument("session", metavar="ID", help=_ID)
    export.add_argument(
        "--format", choices=["json", "markdown", "html"], help="default: json, or by the suffix of FILE (.md, .html)"
    )
    export.add_argument("-o", "--output", metavar="FILE", help="output file (stdout)")
    export.add_argument("--raw", action="store_true", help="do not redact secrets in tool inputs")
    fork = _command(
        verbs, "fork", "create a session that continues from a turn of another", "session.history_commands:fork"
    )
    fork.add_argument("session", metavar="ID", help=_ID)
    fork.add_argument(
        "--at",
        type=_count,
        default=0,
        metavar="SEQ",
        help="fork after the last turn that ended at or before this event; `session show --json` lists the numbers "
        "(default: the newest turn)",
    )
    fork.add_argument("--name", default="", metavar="NAME", help="name of the new session")
    budget = _command(verbs, "budget", "show or change the limits of a session", "session.budget:budget")
    budget.add_argument("session", metavar="ID", help=_ID)
    add_budget_options(budget, "limits (0: no limit; limits that are not given do not change)")
    budget.add_argument("--none", action="store_true", help="remove all limits")
    grants = _command(verbs, "grants", "show what is allowed for the rest of a session", "session.grants:grants")
    grants.add_argument("session", metavar="ID", help=_ID)
    grants.add_argument(
        "--clear",
        nargs="?",
        const="",
        metavar="WHAT",
        help="revoke the grants of this tool or rule (default: all grants)",
    )
    add_session_diff(verbs, _command, _ID)
    delete = _command(verbs, "delete", "end a session and delete its history", "session.history_commands:delete")
    delete.add_argument("session", metavar="ID", help=_ID)
    delete.add_argument("-y", "--yes", action="store_true", help="do not ask")


def _add_search(commands: "Commands[Parser]") -> None:
    search = _command(commands, "search", "search the text of all sessions", "session.history_commands:search")
    search.add_argument("query", metavar="QUERY", nargs="+", help='words, "a phrase", or a prefix*')
    search.add_argument("-s", "--session", metavar="ID", help="search only this session")
    search.add_argument("--limit", type=_count, default=20, metavar="N", help="show at most N matches (20)")
    search.add_argument("--offset", type=_count, default=0, metavar="N", help="skip the first N")


def _add_policy(commands: "Commands[Parser]") -> None:
    verbs = _noun(commands, "policy", "check and list permission rules, and trust projects")
    check = _command(verbs, "check", "show whether a tool call would be allowed, and why", "policy.commands:check")
    check.add_argument(
        "use", nargs="?", metavar="TOOL(WHAT)", help='the tool call, such as "Bash(git push)" or "Edit(src/a.py)"'
    )
    check.add_argument("--tool", metavar="NAME", help="name of the tool, with --input instead of TOOL(WHAT)")
    check.add_argument("--input", metavar="JSON", help="with --tool: the tool's input, as the agent sends it")
    check.add_argument("-C", "--dir", dest="cwd", metavar="DIR", help="for a new session in DIR (the current one)")
    check.add_argument("-s", "--session", metavar="ID", help="for this session, with its grants")
    listing = _command(verbs, "list", "list the rules in force and the file of each", "policy.list:list_rules")
    listing.add_argument("-C", "--dir", dest="cwd", metavar="DIR", help="for a new session in DIR (the current one)")
    listing.add_argument("-s", "--session", metavar="ID", help="for this session")
    attempt = _command(verbs, "try", "show what other rules would have decided in the past", "policy.dry_run:try_rules")
    attempt.add_argument("file", metavar="FILE", help="a settings file, whose rules replace all current rules")
    attempt.add_argument(
        "--since", type=_since_s, default=_since_s("30d"), metavar="TIME", help='how far back, such as "12h" (30d)'
    )
    attempt.add_argument("--limit", type=_count, default=50, metavar="N", help="show at most N tool calls (50)")
    for verb, says in (
        ("trust", "load a project's hooks, MCP servers, environment, plugins, allow rules and worktree setups"),
        ("untrust", "no longer trust a project"),
    ):
        command = _command(verbs, verb, says, f"policy.commands:{verb}")
        command.add_argument("cwd", metavar="DIR", help="the project's directory")
    _command(verbs, "trusted", "list trusted projects", "policy.commands:list_trusted")


def _add_daemon(commands: "Commands[Parser]") -> None:
    verbs = _noun(commands, "daemon", "start, stop, restart and inspect the daemon")
    _add_set(_command(verbs, "run", "run the daemon in the foreground", "daemon.commands:run"))
    _add_set(_command(verbs, "start", "start the daemon and return when it is ready", "daemon.commands:start"))
    stop = _command(verbs, "stop", "stop the daemon; working agents continue", "daemon.stop:stop")
    stop.add_argument("--agents", action="store_true", help="also end all agents and their child processes")
    again = _command(verbs, "restart", "restart the daemon; agents continue", "daemon.stop:restart")
    again.add_argument("--agents", action="store_true", help="end all agents before the start")
    _add_set(again)
    _command(verbs, "status", "show whether the daemon is running, and its state", "daemon.status:status")
    add_logs(verbs, _command, _count)
    add_service(verbs, _command)


def _add_set(parser: Parser) -> None:
    parser.add_argument(
        "--set", action="append", metavar="KEY=VALUE", help="override a setting of the files; may be repeated"
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
