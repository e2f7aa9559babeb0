"""`betcode session list`."""

from collections.abc import Sequence
from datetime import UTC, datetime

from betcode.cli.core.connect import connected
from betcode.cli.core.directory import working_directory
from betcode.cli.core.exit_codes import ExitCode
from betcode.cli.core.options import CommandOptions
from betcode.cli.terminal.console import standard_screen
from betcode.cli.terminal.table import table
from betcode.cli.worktree.start_directory import named_worktree
from betcode.domain.events.event_json import connections_json, summary_json
from betcode.v1 import agent_pb2 as v1
from betcode.wording.ids import short_id
from betcode.wording.money import dollars
from betcode.wording.pending import session_state
from betcode.wording.terminal_text import one_line
from betcode.wording.times import age

_HEADINGS = ("ID", "STATUS", "CHANGED", "MESSAGES", "COST", "AGENT", "WORKTREE", "DIRECTORY", "NAME OR LAST MESSAGE")
_SPARE = (
    "COST",
    "MESSAGES",
    "AGENT",
    "CHANGED",
    "WORKTREE",
    "DIRECTORY",
)  # omitted on a narrow terminal, in this order
_NAME_WIDTH = 24


async def list_sessions(options: CommandOptions) -> int:
    screen = standard_screen()
    only_here = options.flag("here") or bool(options.text("cwd"))
    async with connected(options, screen, doing="Listing") as client:
        within = await named_worktree(client, options) if options.has("worktree") else None
        page = await client.list_sessions(
            working_directory=working_directory(options) if only_here else "",
            worktree_id=within.id if within is not None else "",
            statuses=options.texts("status"),
            limit=options.number("limit"),
            offset=options.number("offset"),
        )
    if options.as_json:
        screen.json({"sessions": [session_json(one) for one in page.sessions], "total": page.total}, indent=2)
        return ExitCode.OK
    if not page.sessions:
        is_all = not (page.total or only_here or within or options.texts("status"))
        screen.line("No sessions yet. Start one with: betcode" if is_all else "No sessions found")
        return ExitCode.OK
    for line in session_lines(page.sessions, datetime.now(UTC), screen.width):
        screen.line(line)
    shown = options.number("offset") + len(page.sessions)
    if shown < page.total:
        screen.note(f"{page.total - shown} more: betcode session list --offset {shown}")
    return ExitCode.OK


def session_lines(sessions: Sequence[v1.SessionSummary], now: datetime, width: int) -> list[str]:
    """Return one line per session; worktrees are shown only if one of the sessions has one."""
    shown = [name for name in _HEADINGS if name != "WORKTREE" or any(one.worktree_name for one in sessions)]
    rows = [dict(zip(_HEADINGS, _row(one, sessions, now), strict=True)) for one in sessions]
    cells = [[row[name] for name in shown] for row in rows]
    return table(shown, cells, width, path="DIRECTORY", spare=[name for name in _SPARE if name in shown])


def session_json(one: v1.SessionSummary) -> dict[str, object]:
    return summary_json(one) | connections_json(one)


def _row(one: v1.SessionSummary, page: Sequence[v1.SessionSummary], now: datetime) -> list[str]:
    short = short_id(one.id)
    alone = sum(other.id.startswith(short) for other in page) == 1
    return [
        short if alone else one.id,
        session_state(one, now),
        age(now - one.updated_at.ToDatetime(UTC)),
        str(one.message_count),
        dollars(one.total_cost_usd),
        one.provider,
        one_line(one.worktree_name, _NAME_WIDTH),
        one.working_directory,
        one.name or one.last_message_preview,
    ]
