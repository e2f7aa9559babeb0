"""The command tree of obey: arguments, help and completion."""

import argparse
import sys
from typing import NoReturn

from betcode._version import __version__
from betcode.cli.core.arguments import Commands, Parser, commands_of
from betcode.cli.obey.examples import EXAMPLES
from betcode.cli.obey.failure import ObeyExit
from betcode.cli.obey.session_options import add_session, seconds

_EPILOG = """\
Socket: --socket, or OBEY_DAEMON_SOCKET, or OBEY_SOCKET, or obey/daemon.sock in $XDG_RUNTIME_DIR;
without that directory, obey.sock in the daemon's state directory.

Exit codes: 0 success, 1 failure, 2 invalid arguments. Ctrl-C and a closed output pipe end a command by their signal.

examples:
  obey serve                                               the daemon, in the background
  obey session create --provider claude-code --name scout  a session in the campaign of this directory
  obey session send sess_01JM "fix the build"              the reply is on stdout
  obey COMMAND --help                                      options and examples
"""


class ObeyParser(Parser):
    """Exits with obey's code for invalid arguments, and prints a hint."""

    def error(self, message: str) -> NoReturn:
        from betcode.wording.terminal_text import in_a_line  # imported here: needed only for errors

        print(f"obey: {in_a_line(message)}\nHint: {self.prog} --help", file=sys.stderr)
        sys.exit(ObeyExit.USAGE)


def build_parser() -> Parser:
    """Return the whole command tree."""
    parser: Parser = ObeyParser(
        prog="obey",
        description="Create, watch, message and stop sessions of coding agents that belong to campaigns.",
        epilog=_EPILOG,
    )
    parser.add_argument("-V", "--version", action="version", version=f"obey {__version__}")
    _add_common(parser, top=True)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", dest="command", required=True)
    serve = _command(commands, "serve", "start the daemon, unless it is already running", "daemon_commands:serve")
    serve.add_argument("--foreground", action="store_true", help="run in the foreground until Ctrl-C")
    serve.add_argument(
        "--log-level",
        choices=["debug", "info", "warn", "error"],
        help="log level (from the settings)",
    )
    _command(commands, "stop", "stop the daemon; working agents continue", "daemon_commands:stop")
    _command(commands, "ping", "check whether the daemon answers, and show its version", "daemon_commands:ping")
    _command(commands, "status", "show the daemon, its campaigns and the live sessions", "state_commands:status")
    _command(commands, "campaigns", "list the registered campaigns", "state_commands:campaigns")
    execute = _command(commands, "exec", "run a command in a campaign, if its rules allow it", "exec_command:execute")
    execute.tail = "argv"
    execute.add_argument(
        "-c", "--campaign", metavar="CAMPAIGN", help="campaign id, a unique prefix of it, or the campaign's name"
    )
    execute.add_argument(
        "--timeout", type=seconds, metavar="TIME", help='end the command after this time, such as "90s" or "10m"'
    )
    execute.add_argument(
        "--follow",
        action="store_true",
        help="with --json: print a line for each piece of output as it arrives, not one value at the end",
    )
    add_session(_noun(commands, "session", "create, list, message, watch, answer, stop and restart sessions"), _command)
    completion = _command(commands, "completion", "print a completion script for a shell", "completion:print_script")
    completion.add_argument("shell", choices=["bash", "zsh", "fish"])
    for words, command in commands_of(parser):
        command.epilog = f"examples:\n{EXAMPLES[words]}"
    first = (shown.partition("\n")[0] for words, shown in EXAMPLES.items() if words.startswith("session "))
    commands.choices["session"].epilog = "\n".join(("examples:", *first))
    return parser


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
    group = parser.add_argument_group("connection and output")
    group.add_argument(
        "--socket", metavar="PATH", default=None if top else argparse.SUPPRESS, help="obey socket of the daemon"
    )
    for flag, says in (
        ("--json", "print JSON"),
        ("--no-color", "no colour (as with NO_COLOR)"),
        ("--no-start", "fail if no daemon is running, instead of starting one"),
    ):
        group.add_argument(flag, action="store_true", default=False if top else argparse.SUPPRESS, help=says)
