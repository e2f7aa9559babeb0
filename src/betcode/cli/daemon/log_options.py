"""The options of `betcode daemon logs`."""

import argparse
from collections.abc import Callable
from typing import Any

LEVELS = ("error", "warn", "info", "debug", "trace")


def add_logs(verbs: Any, command: Callable[..., argparse.ArgumentParser], count: Callable[[str], int]) -> None:
    """Add the command; `verbs` and `command` are the parser's."""
    logs = command(verbs, "logs", "show the daemon's log", "daemon.logs:logs")
    logs.add_argument("-f", "--follow", action="store_true", help="follow the log (Ctrl-C stops)")
    logs.add_argument("-n", "--lines", type=count, default=100, metavar="N", help="start with the last N lines (100)")
    logs.add_argument("--level", choices=LEVELS, default="trace", help="only this level and above")
    logs.add_argument("-s", "--session", metavar="ID", help="only lines of this session (id or a prefix of it)")
