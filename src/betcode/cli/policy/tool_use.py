"""Parse tool calls such as `Bash(git push)`, `Read(src/a.py)` or `WebFetch(https://example.com)`."""

import json
import re

from betcode.cli.core.exit_codes import CommandFailed, ExitCode

_WRITTEN = re.compile(r"([A-Za-z_][\w.:-]*)(?:\((.*)\))?", re.DOTALL)
_FIELDS = {
    "Bash": "command",
    "PowerShell": "command",
    "Read": "file_path",
    "Edit": "file_path",
    "Write": "file_path",
    "MultiEdit": "file_path",
    "NotebookEdit": "notebook_path",
    "NotebookRead": "notebook_path",
    "Glob": "path",
    "Grep": "path",
    "LS": "path",
    "WebFetch": "url",
    "WebSearch": "query",
    "Task": "subagent_type",
    "Agent": "subagent_type",
    "Skill": "skill",
}


def tool_use(text: str) -> tuple[str, str]:
    """Return the tool's name and its input as JSON.

    Raises:
        CommandFailed: the text has another form, or the argument of that tool is unknown.
    """
    found = _WRITTEN.fullmatch(text.strip())
    if found is None:
        raise _invalid(f"{text!r} is not a tool call: write Tool(what), such as Bash(git push)")
    tool, what = found[1], found[2]
    if not what:
        return tool, "{}"
    if what.lstrip().startswith("{"):
        return tool, _checked(what)
    field = _FIELDS.get(tool)
    meant = next((name for name in _FIELDS if name.lower() == tool.lower()), "")
    if field is None and meant:
        raise _invalid(f"No tool is called {tool}: write {meant}({what})")
    if field is None:
        raise _invalid(f'The input of {tool}(…) is unknown: write --tool {tool} --input \'{{"name": "value"}}\'')
    if tool == "WebFetch" and what.startswith("domain:"):
        what = f"https://{what.removeprefix('domain:')}/"
    return tool, json.dumps({field: what}, ensure_ascii=False)


def json_input(text: str) -> str:
    """Return the JSON input; {} for an empty text.

    Raises:
        CommandFailed: it is not a JSON object.
    """
    return _checked(text) if text else "{}"


def _checked(text: str) -> str:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as trouble:
        raise _invalid(f"The input is not JSON: {trouble}") from None
    if not isinstance(value, dict):
        raise _invalid("The input is not a JSON object")
    return text


def _invalid(message: str) -> CommandFailed:
    return CommandFailed(message, ExitCode.INVALID_ARGUMENTS)
