"""The options of `betcode doctor`."""

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from betcode.cli.core.arguments import Commands, Parser


def add_doctor(commands: "Commands[Parser]", command: "Callable[[Commands[Parser], str, str, str], Parser]") -> None:
    doctor = command(commands, "doctor", "find problems on this machine and suggest fixes", "doctor.command:doctor")
    doctor.add_argument(
        "--repair",
        action="store_true",
        help="move unusable entries of the runs directory to set-aside; deletes nothing",
    )
    doctor.add_argument("-y", "--yes", action="store_true", help="with --repair: do not ask for confirmation")
