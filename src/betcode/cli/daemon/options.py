"""The options of `betcode daemon`."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from betcode.cli.core.argument_types import count
from betcode.cli.daemon.log_options import add_logs
from betcode.cli.daemon.service_options import add_service

if TYPE_CHECKING:
    from betcode.cli.core.arguments import Commands, Parser


def add_daemon(
    commands: "Commands[Parser]",
    noun: "Callable[[Commands[Parser], str, str], Commands[Parser]]",
    command: "Callable[[Commands[Parser], str, str, str], Parser]",
) -> None:
    verbs = noun(commands, "daemon", "start, stop, restart and inspect the daemon")
    _add_set(command(verbs, "run", "run the daemon in the foreground", "daemon.commands:run"))
    _add_set(command(verbs, "start", "start the daemon and return when it is ready", "daemon.commands:start"))
    stop = command(verbs, "stop", "stop the daemon; working agents continue", "daemon.stop:stop")
    stop.add_argument("--agents", action="store_true", help="also end all agents and their child processes")
    again = command(verbs, "restart", "restart the daemon; agents continue", "daemon.stop:restart")
    again.add_argument("--agents", action="store_true", help="end all agents before the start")
    _add_set(again)
    command(verbs, "status", "show whether the daemon is running, and its state", "daemon.status:status")
    add_logs(verbs, command, count)
    add_service(verbs, command)


def _add_set(parser: "Parser") -> None:
    parser.add_argument(
        "--set", action="append", metavar="KEY=VALUE", help="override a setting of the files; may be repeated"
    )
