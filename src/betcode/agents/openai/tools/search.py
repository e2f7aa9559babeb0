"""Searches files and lines in a child process, because a pattern may run forever and a thread cannot be killed."""

import json
import re
import sys

from betcode.agents.openai.tools.commands import run_command
from betcode.agents.openai.tools.paths import is_inside, resolved, unmoved
from betcode.agents.openai.tools.plans import Arguments, Plan, Result, Unfit, Workspace

_LIMIT_S = 20
_PROCESS = "betcode.agents.openai.tools.search_process"
_NOTHING = "(nothing found)"


def plan_grep(workspace: Workspace, arguments: Arguments) -> Plan:
    pattern, glob = arguments.text("pattern"), arguments.text("glob", "")
    try:
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise Unfit(f"The pattern is not a valid Python regular expression: {error}") from None
    shown = {"pattern": pattern, **({"glob": glob} if glob else {})}
    return _plan(workspace, "Grep", f"Search for {pattern}", shown, arguments)


def plan_glob(workspace: Workspace, arguments: Arguments) -> Plan:
    pattern = arguments.text("pattern")
    if pattern.startswith(("/", "~")) or ".." in pattern.split("/"):
        raise Unfit("The pattern is relative to path: name the directory there")
    return _plan(workspace, "Glob", f"Find {pattern}", {"pattern": pattern}, arguments)


def _plan(workspace: Workspace, name: str, title: str, shown: dict[str, str], arguments: Arguments) -> Plan:
    place = resolved(workspace, arguments.text("path", ".") or ".")
    wanted = {**shown, "path": str(place)}

    async def run() -> Result:
        argv = (sys.executable, "-I", "-m", _PROCESS, name)
        unmoved(place)
        # A pattern of the model is data for this process, never a command.
        ran = await run_command(argv, workspace.root, {}, _LIMIT_S, json.dumps(wanted).encode())
        if ran.timed_out:
            raise Unfit(f"The search took longer than {_LIMIT_S} s: narrow it")
        return Result(ran.output.rstrip("\n") or _NOTHING, bool(ran.exit_code))

    asked = workspace.asks_reads or not is_inside(workspace, place)
    return Plan(name, wanted, title, "search", asked, run, str(place))
