"""The options of `betcode config`."""

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from betcode.cli.core.arguments import Commands, Parser


def add_config(
    commands: "Commands[Parser]",
    noun: "Callable[[Commands[Parser], str, str], Commands[Parser]]",
    command: "Callable[[Commands[Parser], str, str, str], Parser]",
) -> None:
    verbs = noun(commands, "config", "show, change and check the settings")
    show = command(
        verbs, "show", "show every setting and its value, as a daemon started here has it", "config.commands:show"
    )
    show.add_argument("--origin", action="store_true", help="where each value comes from")
    _add_directory(show)
    get = command(verbs, "get", "print the value of one setting", "config.commands:get")
    get.add_argument("key", metavar="KEY", help="such as agents.turn_limit")
    _add_directory(get)
    change = command(verbs, "set", "change settings in their file", "config.commands:set_value")
    change.add_argument("key", metavar="KEY", help="such as agents.turn_limit")
    change.add_argument("value", metavar="VALUE", help="such as 3, 10m, 2GB, true; a list as JSON")
    change.add_argument("more", metavar="KEY VALUE", nargs="*", help="others with it, which go together or not at all")
    _add_which(change)
    unset = command(verbs, "unset", "take one setting out of its file", "config.commands:unset")
    unset.add_argument("key", metavar="KEY", help="such as agents.turn_limit")
    _add_which(unset)
    validate = command(verbs, "validate", "say all that is wrong with the settings", "config.commands:validate")
    validate.add_argument("file", metavar="FILE", nargs="?", help="only this file (all that count here)")
    _add_directory(validate)
    path = command(verbs, "path", "print where the file is", "config.commands:path")
    _add_which(path)
    edit = command(verbs, "edit", "open the file in your editor, and check it afterwards", "config.edit:edit")
    _add_which(edit)
    copy = command(verbs, "import", "copy the settings of Claude Code", "config.import_offer:import_settings")
    copy.add_argument("--from", dest="source", metavar="DIR", help="where they are (~/.claude)")
    copy.add_argument("--replace", action="store_true", help="also what is there already; it is kept as *.before")
    mcp = command(verbs, "mcp", "list the MCP servers that agents reported", "config.mcp:mcp")
    mcp.add_argument("-s", "--session", metavar="ID", help="only of this session's agent")


def _add_directory(parser: "Parser") -> None:
    parser.add_argument("-C", "--cwd", metavar="DIR", help="with the files of the project there (the current one)")


def _add_which(parser: "Parser") -> None:
    group = parser.add_argument_group("which file").add_mutually_exclusive_group()
    group.add_argument("--user", action="store_true", help="yours, for all projects (this one, if none is named)")
    group.add_argument("--project", action="store_true", help=".claude/settings.json, shared with others")
    group.add_argument("--local", action="store_true", help=".claude/settings.local.json, yours alone")
    parser.add_argument("-C", "--cwd", metavar="DIR", help="with --project and --local: the project (the current one)")
