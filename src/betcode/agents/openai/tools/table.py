"""The table of tools as the model sees them, and the plan of each call."""

import json
from collections.abc import Callable, Mapping
from typing import Any

from betcode.agents.openai.records import Call
from betcode.agents.openai.tools.commands import plan_shell
from betcode.agents.openai.tools.edit import plan_edit, plan_write
from betcode.agents.openai.tools.plans import Arguments, Plan, Unfit, Workspace
from betcode.agents.openai.tools.read import plan_read
from betcode.agents.openai.tools.search import plan_glob, plan_grep
from betcode.agents.openai.wires import Tool

Planner = Callable[[Workspace, Arguments], Plan]

_PLANNERS: Mapping[str, Planner] = {
    "read": plan_read,
    "glob": plan_glob,
    "grep": plan_grep,
    "edit": plan_edit,
    "write": plan_write,
    "shell": plan_shell,
}
# The rules' names of input fields that a person may have edited, and ours for the same.
_OURS = {"file_path": "path"}


def _tool(name: str, description: str, required: Mapping[str, str], optional: Mapping[str, str] | None = None) -> Tool:
    kinds = {"offset": "integer", "limit": "integer", "timeout_s": "integer", "replace_all": "boolean"}
    described = {**required, **(optional or {})}
    properties = {each: {"type": kinds.get(each, "string"), "description": text} for each, text in described.items()}
    schema = {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}
    return Tool(name, description, schema)


_PATH = "absolute, or relative to the project"
TOOLS = (
    _tool(
        "read",
        "Read a text file with line numbers, or list a directory.",
        {"path": _PATH},
        {"offset": "the first line, from 1", "limit": "how many lines"},
    ),
    _tool(
        "glob",
        "Find files by a pattern such as *.py or src/**/*.ts.",
        {"pattern": "relative to path"},
        {"path": "a directory (default: the project)"},
    ),
    _tool(
        "grep",
        "Find lines by a regular expression (Python's), with file and line number.",
        {"pattern": "the regular expression"},
        {"path": "a directory or file (default: the project)", "glob": "only in files like this"},
    ),
    _tool(
        "edit",
        "Replace a piece of a file. old_string has to be in it exactly once, unless replace_all is true.",
        {"path": _PATH, "old_string": "the text to replace, exactly as in the file", "new_string": "the replacement"},
        {"replace_all": "replace every occurrence"},
    ),
    _tool("write", "Write a whole file.", {"path": _PATH, "content": "all of it"}),
    _tool(
        "shell",
        "Run a command with bash, without a terminal. Background processes end with it.",
        {"command": "the command line"},
        {
            "description": "what it is for, in a few words",
            "timeout_s": "time limit in seconds (default: 120, at most 600)",
            "cwd": "working directory (default: the project)",
        },
    ),
)


def plan_of(workspace: Workspace, call: Call) -> Plan:
    """Return the plan; raises Unfit with a message for the model."""
    planner = _PLANNERS.get(call.name)
    if planner is None:
        raise Unfit(f"Unknown tool {call.name!r}: use one of {', '.join(_PLANNERS)}")
    try:
        given = json.loads(call.arguments or "{}")
    except (ValueError, RecursionError) as error:
        raise Unfit(f"The arguments are not JSON: {error}") from None
    if not isinstance(given, dict):
        raise Unfit("The arguments must be a JSON object")
    return planner(workspace, Arguments(given))


def changed_plan(workspace: Workspace, call: Call, instead: Mapping[str, Any]) -> Plan:
    """Return the plan for a person's edited input, which uses the names that were shown.

    Raises:
        Unfit
    """
    return _PLANNERS[call.name](workspace, Arguments({_OURS.get(name, name): value for name, value in instead.items()}))
