"""The command tree: arguments, help and completion."""

import argparse
from collections.abc import Iterator

from betcode._version import __version__
from betcode.cli.audit.options import add_audit
from betcode.cli.cassette.options import add_cassette
from betcode.cli.completion.options import add_completion
from betcode.cli.config.options import add_config
from betcode.cli.core.argument_types import SESSION_ID
from betcode.cli.core.arguments import Commands, Parser, commands_of
from betcode.cli.core.examples import EXAMPLES
from betcode.cli.core.remote_options import add_remote
from betcode.cli.daemon.options import add_daemon
from betcode.cli.db.options import add_db
from betcode.cli.doctor.options import add_doctor
from betcode.cli.permission.options import add_permission
from betcode.cli.policy.options import add_policy
from betcode.cli.run.options import add_run
from betcode.cli.session.new_session_options import add_choice_of_agent, add_providers
from betcode.cli.session.options import add_attach, add_presentation, add_search, add_session
from betcode.cli.version.options import add_versions
from betcode.cli.worktree.completion import WorktreeArgument
from betcode.cli.worktree.options import add_worktree

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
    add_presentation(parser, top=True)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", dest="command")
    add_run(commands, _command)
    add_attach(commands, _command)
    add_session(commands, _noun, _command)
    add_worktree(commands, _noun, _command)
    add_search(commands, _command)
    add_permission(commands, _noun, _command)
    add_policy(commands, _noun, _command)
    add_audit(commands, _noun, _command)
    add_config(commands, _noun, _command)
    add_daemon(commands, _noun, _command)
    add_db(commands, _noun, _command)
    add_cassette(commands, _noun, _command, SESSION_ID)
    add_doctor(commands, _command)
    add_versions(commands, _command)
    add_providers(commands, _command)
    add_completion(commands, _command)
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
