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
    verbs = noun(commands, "db", "back up, check and repair the database, and see what takes room")
    backup = command(verbs, "backup", "copy the database while it is used", "db.commands:backup")
    backup.add_argument("file", nargs="?", metavar="FILE", help="the copy (backups/ in the state directory)")
    backup.add_argument("--force", action="store_true", help="replace FILE where it exists")
    backup.add_argument(
        "--keep", type=_some, metavar="N", help="without FILE: remove all but the newest N copies there"
    )
    restore = command(verbs, "restore", "put a copy in place of the database", "db.repair:restore")
    restore.add_argument("file", metavar="FILE", help="the copy")
    check = command(verbs, "check", "tell whether the database is whole", "db.commands:check")
    check.add_argument("file", nargs="?", metavar="FILE", help="another one, such as a copy")
    check.add_argument("--quick", action="store_true", help="do not compare the indices")
    command(verbs, "repair", "save what can be read of a damaged database into a new one", "db.repair:repair")
    usage = command(verbs, "usage", "show what takes how much room", "db.commands:usage")
    usage.add_argument("--limit", type=_some, default=10, metavar="N", help="the largest N sessions (10)")
    prune = command(verbs, "prune", "delete closed sessions that are old", "db.prune:prune")
    prune.add_argument(
        "--older-than", required=True, metavar="AGE", help='without any change for so long, such as "90d"'
    )
    prune.add_argument("--dry-run", action="store_true", help="only show them")
    prune.add_argument("-y", "--yes", action="store_true", help="do not ask")


def _some(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 0 < int(text) < 2**31):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 up")
    return int(text)
