"""`betcode policy check`, `trust` and `untrust`: evaluate rules and manage trusted projects."""

from datetime import UTC, datetime
from pathlib import Path

from betcode.cli.core.connect import connected
from betcode.cli.core.directory import working_directory
from betcode.cli.core.exit_codes import CommandFailed, ExitCode
from betcode.cli.core.identity import shown_client
from betcode.cli.core.options import CommandOptions
from betcode.cli.policy.tool_use import json_input, tool_use
from betcode.cli.session.lookup import find_session
from betcode.cli.terminal.console import Screen, standard_screen
from betcode.cli.terminal.table import table
from betcode.domain.values.times import rfc3339_past
from betcode.v1 import policy_pb2 as v1
from betcode.wording.terminal_text import one_line
from betcode.wording.times import age

WORDS = {v1.POLICY_OUTCOME_ALLOW: "allow", v1.POLICY_OUTCOME_ASK: "ask", v1.POLICY_OUTCOME_DENY: "deny"}
_DECISION_TEXTS = {"allow": "Allowed", "ask": "A person is asked", "deny": "Denied"}
_ELSEWHERE = {"flags": "--allowed-tools", "session": "granted for the session"}
_WIDTH = 300


async def check(options: CommandOptions) -> int:
    screen = standard_screen()
    tool, input_json = _use(options)
    async with connected(options, screen) as client:
        session = options.text("session")
        if session and options.text("cwd"):
            raise CommandFailed("Give either a session or a directory, not both", ExitCode.INVALID_ARGUMENTS)
        named = options.text("cwd")
        if named and not Path(working_directory(options)).is_dir():
            raise CommandFailed(f"No such directory: {one_line(named, _WIDTH)}", ExitCode.INVALID_ARGUMENTS)
        found = await client.policy.check(
            tool,
            input_json,
            working_directory="" if session else working_directory(options),
            session_id=await find_session(client, session) if session else "",
        )
    if options.as_json:
        screen.json(_json(tool, input_json, found), indent=2)
    else:
        _show(screen, found)
    return ExitCode.OK


def _use(options: CommandOptions) -> tuple[str, str]:
    """Return the tool and its input, from either form of the arguments."""
    if options.text("use") and options.text("tool"):
        raise CommandFailed("Give TOOL(WHAT) or --tool and --input, not both", ExitCode.INVALID_ARGUMENTS)
    if not options.text("use") and not options.text("tool"):
        raise CommandFailed(
            'Give a tool call: betcode policy check "Bash(git push)", or --tool NAME --input JSON',
            ExitCode.INVALID_ARGUMENTS,
        )
    if options.text("use"):
        return tool_use(options.text("use"))
    return options.text("tool"), json_input(options.text("input"))


def _show(screen: Screen, found: v1.CheckPolicyResponse) -> None:
    screen.line(f"{_DECISION_TEXTS[WORDS[found.outcome]]}: {one_line(found.reason, _WIDTH)}")
    for rule in found.rules:
        screen.line(f"  by {rule_line(rule)}")
    if len(found.segments) > 1:
        screen.line("  its commands:")
        for segment in found.segments:
            screen.line(f"    {one_line(segment, _WIDTH)}")
    for problem in found.problems:
        screen.note(f"Not used: {problem}")
    if found.untrusted and found.outcome == v1.POLICY_OUTCOME_ASK:
        screen.note(
            f"Allow rules of this project are ignored, because it is not trusted: {len(found.untrusted)}. "
            f"To trust it: betcode policy trust {found.working_directory}"
        )


def rule_line(rule: v1.PolicyRule) -> str:
    """Return a rule and its file and line, on one line."""
    where = rule.path or _ELSEWHERE.get(rule.layer, rule.layer)
    if rule.line:
        where += f":{rule.line}"
    return one_line(f"{rule.action} {rule.text} ({where})", _WIDTH)


def rule_json(rule: v1.PolicyRule) -> dict[str, object]:
    return {
        "action": rule.action,
        "rule": rule.text,
        "layer": rule.layer,
        "path": rule.path or None,
        "line": rule.line or None,
    }


def _json(tool: str, input_json: str, found: v1.CheckPolicyResponse) -> dict[str, object]:
    return {
        "tool_name": tool,
        "input_json": input_json,
        "working_directory": found.working_directory,
        "outcome": WORDS[found.outcome],
        "reason": found.reason,
        "rules": [rule_json(rule) for rule in found.rules],
        "segments": list(found.segments),
        "problems": list(found.problems),
        "untrusted": [rule_json(rule) for rule in found.untrusted],
    }


async def trust(options: CommandOptions) -> int:
    return await _set_trust(options, trusted=True)


async def untrust(options: CommandOptions) -> int:
    return await _set_trust(options, trusted=False)


async def _set_trust(options: CommandOptions, *, trusted: bool) -> int:
    screen = standard_screen()
    directory = working_directory(options)
    async with connected(options, screen) as client:
        answer = await client.policy.trust(directory, trusted=trusted)
    project = answer.project or directory
    if options.as_json:
        screen.json({"directory": directory, "project": project, "trusted": trusted, "changed": answer.changed})
    elif not answer.changed:
        screen.line(f"{project} was already trusted" if trusted else f"{project} was not trusted")
    elif trusted:
        screen.line(
            f"{project} is trusted: agents that start there load its hooks, MCP servers, environment, plugins and "
            "allow rules, and its worktree setups may run, in all its worktrees"
        )
    else:
        screen.line(f"{project} is no longer trusted: agents that start there run without its project settings")
    return ExitCode.OK


async def list_trusted(options: CommandOptions) -> int:
    screen = standard_screen()
    async with connected(options, screen) as client:
        projects = await client.policy.trusted()
    if options.as_json:
        entries = [
            {"directory": one.directory, "since": rfc3339_past(one.since.ToNanoseconds()), "trusted_by": one.trusted_by}
            for one in projects
        ]
        screen.json({"projects": entries}, indent=2)
        return ExitCode.OK
    if not projects:
        screen.line("No trusted projects. Projects that Claude Code trusts are also trusted")
        return ExitCode.OK
    now = datetime.now(UTC)
    rows = [(age(now - one.since.ToDatetime(UTC)), shown_client(one.trusted_by), one.directory) for one in projects]
    for line in table(("SINCE", "BY", "DIRECTORY"), rows, screen.width, spare=("BY", "SINCE")):
        screen.line(line)
    return ExitCode.OK
