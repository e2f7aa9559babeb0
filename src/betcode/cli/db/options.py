"""The options of `betcode db`."""

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from betcode.cli.core.arguments import Commands, Parser


def add_db(
    commands: "Commands[Parser]",
    noun: "Callable[[Commands[Parser], str, str], Commands[Parser]]",
    command: "Callable[[Commands[Parser], str, str, str], Parser]",
) -> None:
    verbs = noun(commands, "db", "back up, check, repair and shrink the database")
    backup = command(verbs, "backup", "copy the database, also while it is in use", "db.commands:backup")
    backup.add_argument(
        "file", nargs="?", metavar="FILE", help="output file (default: in backups/ of the state directory)"
    )
    backup.add_argument("--force", action="store_true", help="overwrite FILE")
    backup.add_argument("--keep", type=_some, metavar="N", help="without FILE: keep only the newest N backups")
    restore = command(verbs, "restore", "replace the database by a backup", "db.repair:restore")
    restore.add_argument("file", metavar="FILE", help="the backup")
    check = command(verbs, "check", "check whether the database is intact", "db.commands:check")
    check.add_argument("file", nargs="?", metavar="FILE", help="another database file, such as a backup")
    check.add_argument("--quick", action="store_true", help="do not check the indices")
    command(verbs, "repair", "recover readable data of a damaged database into a new one", "db.repair:repair")
    usage = command(verbs, "usage", "show how much disk space the data uses", "db.commands:usage")
    usage.add_argument("--limit", type=_some, default=10, metavar="N", help="show the largest N sessions (10)")
    prune = command(verbs, "prune", "delete old closed sessions", "db.prune:prune")
    prune.add_argument("--older-than", required=True, metavar="AGE", help='unchanged for this time, such as "90d"')
    prune.add_argument("--dry-run", action="store_true", help="only list them")
    prune.add_argument("-y", "--yes", action="store_true", help="do not ask for confirmation")


def _some(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 0 < int(text) < 2**31):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 up")
    return int(text)
