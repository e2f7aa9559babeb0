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
        verbs, "install", "have the daemon started at every login, by systemd or launchd", "daemon.service:install"
    )
    install.add_argument("--print", action="store_true", help="print what would be installed, and install nothing")
    install.add_argument(
        "--linger", action="store_true", help="have it and its agents live on when you log out (loginctl enable-linger)"
    )
    uninstall = command(verbs, "uninstall", "no longer start the daemon at login", "daemon.service:uninstall")
    for parser in (install, uninstall):
        parser.add_argument("--name", type=_name, default="betcode", help="of the service (betcode)")
    command(verbs, "health", "end with 0 where the daemon is well, with 2 where not; for probes", "daemon.health:probe")


def _name(text: str) -> str:
    if not _NAME.fullmatch(text):
        raise argparse.ArgumentTypeError(f"{text!r} is no name of letters, digits, - and _")
    return text
