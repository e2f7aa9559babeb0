"""The options of `betcode completion`."""

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from betcode.cli.core.arguments import Commands, Parser


def add_completion(
    commands: "Commands[Parser]", command: "Callable[[Commands[Parser], str, str, str], Parser]"
) -> None:
    completion = command(
        commands, "completion", "print a completion script for a shell", "completion.scripts:print_script"
    )
    completion.add_argument("shell", choices=["bash", "zsh", "fish"])
