"""`betcode policy try`: show what other rules would have decided in the past."""

import time
from contextlib import aclosing
from pathlib import Path

import anyio

from betcode.cli.core.connect import connected
from betcode.cli.core.exit_codes import CommandFailed, ExitCode
from betcode.cli.core.options import CommandOptions
from betcode.cli.policy.commands import WORDS, rule_json, rule_line
from betcode.cli.terminal.console import Screen, standard_screen
from betcode.cli.terminal.table import table
from betcode.config.plain_file import read_plain
from betcode.domain.events.display import struct_of
from betcode.domain.values.times import rfc3339_past
from betcode.v1 import policy_pb2 as v1
from betcode.v1.agent_pb2 import ToolCallStart
from betcode.wording.render import telling_input

_NS = 1_000_000_000
_FILE_BYTES = 2 * 1024 * 1024
_WHAT = 200


def try_rules(options: CommandOptions) -> int:
    path, text = _read(options.text("file"))
    return anyio.run(_try, options, path, text)


def _read(name: str) -> tuple[str, str]:
    """Return the file's full name and its text.

    Raises:
        CommandFailed: the file cannot be read.
    """
    path = Path(name).absolute()
    try:
        data = read_plain(path, _FILE_BYTES + 1)
        if len(data) > _FILE_BYTES:
            raise CommandFailed(f"{path} is longer than {_FILE_BYTES} bytes", ExitCode.INVALID_ARGUMENTS)
        return str(path), data.decode()
    except OSError as trouble:
        raise CommandFailed(f"{path} cannot be read: {trouble.strerror}", ExitCode.INVALID_ARGUMENTS) from None
    except UnicodeDecodeError:
        raise CommandFailed(f"{path} is not UTF-8", ExitCode.INVALID_ARGUMENTS) from None


async def _try(options: CommandOptions, path: str, text: str) -> int:
    screen = standard_screen()
    since_ns = max(time.time_ns() - options.number("since") * _NS, 0)
    changed: list[v1.ChangedUse] = []
    summary = v1.TryPolicySummary()
    async with (
        connected(options, screen, doing="Trying the rules") as client,
        aclosing(client.policy.try_rules(text, path, since_ns)) as updates,
    ):
        async for update in updates:
            match update.WhichOneof("update"):
                case "changed":
                    changed.append(update.changed)
                case "summary":
                    summary = update.summary
                case _:
                    pass
    if options.as_json:
        screen.json(_json(changed, summary, since_ns), indent=2)
    else:
        _show(screen, changed, summary, options.number("limit"))
    return ExitCode.OK


def _show(screen: Screen, changed: list[v1.ChangedUse], summary: v1.TryPolicySummary, limit: int) -> None:
    for problem in summary.problems:
        screen.note(f"Not used: {problem}")
    screen.line(f"{_many(summary.uses, 'use')} of tools in {_many(summary.sessions, 'session')}")
    if summary.unknown:
        screen.line(f"{summary.unknown:,} more were too long to be recorded in full")
    for count in summary.counts:
        before, after = WORDS[count.before], WORDS[count.after]
        screen.line(f"  {count.uses:8,}  {before}" + (f" → {after}" if before != after else ", as now"))
    if not changed:
        screen.line("Nothing would change")
        return
    screen.line()
    rows = [
        (f"{one.count:,}", f"{WORDS[one.before]} → {WORDS[one.after]}", _why(one), one.tool_name, _what(one))
        for one in changed[:limit]
    ]
    for line in table(("USES", "CHANGE", "THEN BY", "TOOL", "WHAT"), rows, screen.width, spare=("THEN BY",)):
        screen.line(line)
    more = len(changed) - len(rows)
    if more or summary.changed_not_shown:
        screen.note(f"Different uses that are not shown: {more}{' and more' if summary.changed_not_shown else ''}")


def _many(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _why(one: v1.ChangedUse) -> str:
    return rule_line(one.rule_after) if one.HasField("rule_after") else "no rule"


def _what(one: v1.ChangedUse) -> str:
    return telling_input(ToolCallStart(input=struct_of(one.input_json), description=one.input_json), _WHAT)


def _json(changed: list[v1.ChangedUse], summary: v1.TryPolicySummary, since_ns: int) -> dict[str, object]:
    return {
        "since": rfc3339_past(since_ns) or None,
        "uses": summary.uses,
        "sessions": summary.sessions,
        "unknown": summary.unknown,
        "problems": list(summary.problems),
        "counts": [
            {"before": WORDS[one.before], "after": WORDS[one.after], "uses": one.uses} for one in summary.counts
        ],
        "changed": [
            {
                "tool_name": one.tool_name,
                "input_json": one.input_json,
                "working_directory": one.working_directory,
                "count": one.count,
                "session_id": one.session_id,
                "last_at": rfc3339_past(one.last_at.ToNanoseconds()),
                "before": WORDS[one.before],
                "after": WORDS[one.after],
                "rule_before": rule_json(one.rule_before) if one.HasField("rule_before") else None,
                "rule_after": rule_json(one.rule_after) if one.HasField("rule_after") else None,
                "reason_after": one.reason_after,
            }
            for one in changed
        ],
        "changed_not_shown": summary.changed_not_shown,
    }
