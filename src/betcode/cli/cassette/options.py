"""The options of `betcode cassette`."""

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from betcode.cli.core.arguments import Commands, Parser


def add_cassette(
    commands: "Commands[Parser]",
    noun: "Callable[[Commands[Parser], str, str], Commands[Parser]]",
    command: "Callable[[Commands[Parser], str, str, str], Parser]",
    says: str,
) -> None:
    verbs = noun(commands, "cassette", "save a session as a recording that the demo agent plays")
    save = command(verbs, "save", "show a session's recording without secrets, then save it", "cassette.commands:save")
    save.add_argument("session", metavar="ID", help=says)
    save.add_argument("-o", "--output", metavar="FILE", help="output file (SESSION.cassette.ndjson)")
    save.add_argument("--all", action="store_true", help="show all lines in full")
    save.add_argument("--force", action="store_true", help="overwrite FILE")
    save.add_argument("-y", "--yes", action="store_true", help="do not ask for confirmation")
