"""The options of `betcode daemon install` and `betcode daemon uninstall`."""

import argparse
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from betcode.cli.core.arguments import Commands, Parser

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


def add_service(verbs: "Commands[Parser]", command: "Callable[[Commands[Parser], str, str, str], Parser]") -> None:
    install = command(
        verbs, "install", "start the daemon at every login (systemd or launchd)", "daemon.service:install"
    )
    install.add_argument("--print", action="store_true", help="print the unit file and install nothing")
    install.add_argument(
        "--linger",
        action="store_true",
        help="keep the daemon and its agents running after you log out (loginctl enable-linger)",
    )
    uninstall = command(verbs, "uninstall", "stop starting the daemon at login", "daemon.service:uninstall")
    for parser in (install, uninstall):
        parser.add_argument("--name", type=_name, default="betcode", help="name of the service (betcode)")
    command(
        verbs, "health", "exit with 0 if the daemon is healthy, otherwise with 2; for probes", "daemon.health:probe"
    )


def _name(text: str) -> str:
    if not _NAME.fullmatch(text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a name of letters, digits, - and _")
    return text
