"""The options of `betcode version` and `betcode features`."""

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from betcode.cli.core.arguments import Commands, Parser


def add_versions(commands: "Commands[Parser]", command: "Callable[[Commands[Parser], str, str, str], Parser]") -> None:
    """Add both commands with the parser's `command`."""
    command(commands, "version", "show the versions of client, daemon and agent", "version.commands:show_versions")
    command(commands, "features", "list feature flags and whether each is enabled", "version.commands:list_features")
