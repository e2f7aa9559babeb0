"""The options of a new session, and of `betcode providers`."""

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING

from betcode.cli.worktree.completion import WorktreeArgument

if TYPE_CHECKING:
    from betcode.cli.core.arguments import Commands, Parser


def add_new_session(parser: "Parser") -> None:
    group = parser.add_argument_group("options of a new session")
    group.add_argument("-C", "--cwd", metavar="DIR", help="working directory (the current one)")
    group.add_argument(
        "-w",
        "--worktree",
        action=WorktreeArgument,
        metavar="NAME",
        help="run in this worktree (name, branch, id or path)",
    )
    add_choice_of_agent(group)
    group.add_argument("--model", metavar="NAME", help="model to use (the provider's default)")
    group.add_argument(
        "--allowed-tools", metavar="TOOL", action="append", help="allow this tool without asking; may be repeated"
    )
    group.add_argument("--plan", action="store_true", help="start in plan mode")
    add_trust(group)


def add_trust(group: "argparse._ArgumentGroup | Parser") -> None:
    group.add_argument(
        "--trust",
        action="store_true",
        help="trust the project: load its hooks, MCP servers, environment, plugins and allow rules, now and later "
        "(default: ask on a terminal; ignore them without one)",
    )


def add_choice_of_agent(group: "argparse._ArgumentGroup | Parser", dest: str = "") -> None:
    """Add the options for the provider and its configuration; `dest` is a prefix of their names."""
    group.add_argument(
        "--provider",
        dest=f"{dest}provider",
        metavar="KIND",
        help="provider of the agent; `betcode providers` lists them (default: claude if installed)",
    )
    group.add_argument(
        "--config",
        dest=f"{dest}config",
        type=_pair,
        action="append",
        metavar="KEY=VALUE",
        help="setting of the provider, such as profile=opencode; may be repeated",
    )


def add_providers(commands: "Commands[Parser]", command: "Callable[[Commands[Parser], str, str, str], Parser]") -> None:
    listing = command(
        commands,
        "providers",
        "list the providers: path, login state and capabilities of each",
        "version.providers:providers",
    )
    listing.add_argument("provider", nargs="?", metavar="KIND", help="show all details of this provider")


def _pair(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key or not key.isprintable():
        raise argparse.ArgumentTypeError(f"{text!r} is not KEY=VALUE")
    return key, value
