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
    verbs = noun(commands, "config", "show, change and check settings")
    show = command(
        verbs, "show", "show every setting and the value that a daemon started here uses", "config.commands:show"
    )
    show.add_argument("--origin", action="store_true", help="show where each value comes from")
    _add_directory(show)
    get = command(verbs, "get", "print the value of one setting", "config.commands:get")
    get.add_argument("key", metavar="KEY", help="such as agents.turn_limit")
    _add_directory(get)
    change = command(verbs, "set", "change settings in a settings file", "config.commands:set_value")
    change.add_argument("key", metavar="KEY", help="such as agents.turn_limit")
    change.add_argument("value", metavar="VALUE", help="such as 3, 10m, 2GB, true; a list as JSON")
    change.add_argument("more", metavar="KEY VALUE", nargs="*", help="more settings, changed together or not at all")
    _add_which(change)
    unset = command(verbs, "unset", "remove a setting from a settings file", "config.commands:unset")
    unset.add_argument("key", metavar="KEY", help="such as agents.turn_limit")
    _add_which(unset)
    validate = command(verbs, "validate", "report all problems of the settings", "config.commands:validate")
    validate.add_argument("file", metavar="FILE", nargs="?", help="check only this file (default: all files in use)")
    _add_directory(validate)
    path = command(verbs, "path", "print the path of the file", "config.commands:path")
    _add_which(path)
    edit = command(verbs, "edit", "open the file in your editor and check the result", "config.edit:edit")
    _add_which(edit)
    copy = command(verbs, "import", "copy the settings of Claude Code", "config.import_offer:import_settings")
    copy.add_argument("--from", dest="source", metavar="DIR", help="directory of Claude Code's settings (~/.claude)")
    copy.add_argument(
        "--replace", action="store_true", help="replace existing files; the old ones are saved as *.before"
    )
    mcp = command(verbs, "mcp", "list the MCP servers that agents have reported", "config.mcp:mcp")
    mcp.add_argument("-s", "--session", metavar="ID", help="only servers of this session's agent")


def _add_directory(parser: "Parser") -> None:
    parser.add_argument(
        "-C", "--cwd", metavar="DIR", help="include the settings of the project in DIR (the current one)"
    )


def _add_which(parser: "Parser") -> None:
    group = parser.add_argument_group("which file").add_mutually_exclusive_group()
    group.add_argument("--user", action="store_true", help="your settings for all projects (default)")
    group.add_argument(
        "--project", action="store_true", help=".claude/settings.json of the project, shared with others"
    )
    group.add_argument("--local", action="store_true", help=".claude/settings.local.json of the project, for you only")
    parser.add_argument(
        "-C", "--cwd", metavar="DIR", help="with --project and --local: directory of the project (the current one)"
    )
