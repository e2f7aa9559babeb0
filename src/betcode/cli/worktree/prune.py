"""`betcode worktree prune`: show the disk use of worktrees and offer to remove them one by one."""

import shlex
import time
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import UTC, datetime

from betcode.cli.core.connect import connected
from betcode.cli.core.directory import working_directory
from betcode.cli.core.exit_codes import CommandFailed, ExitCode
from betcode.cli.core.options import CommandOptions
from betcode.cli.core.timestamps import moment_ns
from betcode.cli.terminal.console import Screen, standard_screen
from betcode.cli.terminal.keyboard import can_ask
from betcode.cli.terminal.line_question import ask_line
from betcode.cli.terminal.table import table
from betcode.cli.worktree.lookup import around, find_worktree
from betcode.cli.worktree.rendering import BRANCHES, counted, report_json
from betcode.client import Client, ClientError, Unreachable
from betcode.v1 import worktree_pb2 as v1
from betcode.wording.sizes import readable
from betcode.wording.terminal_text import columns, in_a_line, one_line, wrapped
from betcode.wording.times import age

_HEADINGS = ("NAME", "SIZE", "USED", "BRANCH", "LAST SESSION", "REASON")
_SPARE = ("USED", "BRANCH")
_REASON_WIDTH = 300
_RECENT_NS = 24 * 3600 * 10**9
_NAMED = 5
_ANSWERS = {"": "n", "y": "y", "yes": "y", "n": "n", "no": "n", "a": "a", "all": "a", "q": "q", "quit": "q"}


@dataclass(slots=True)
class Pruned:
    """The results of the removals."""

    removed: list[str] = field(default_factory=list)
    forgotten: list[str] = field(default_factory=list)
    failed: list[dict[str, str]] = field(default_factory=list)
    freed_bytes: int = 0


async def prune(options: CommandOptions) -> int:
    """Remove worktrees that were shown and that hold no work when they are removed."""
    screen = standard_screen()
    before_ns = _before_ns(options)
    async with connected(options, screen) as client:
        named = [await find_worktree(client, options, name) for name in options.texts("names")]
        reports = await _measured(client, options, screen)
        own = around([one.worktree for one in reports], working_directory(options))
        if named:
            reports = _only(reports, named)
        offered = _offered(reports, before_ns)
        recent = [] if named or options.has("older_than") else _recent(offered)
        offered = [one for one in offered if one not in recent]
        if not options.as_json:
            _show(screen, reports)
        if own is not None and any(one.worktree.id == own.id for one in offered):
            screen.note(f"{in_a_line(own.name)} is not offered: it is the current directory")
            offered = [one for one in offered if one.worktree.id != own.id]
        pruned = Pruned()
        await _go_through(client, options, screen, offered, pruned, but=_skipped_text(recent))
    if options.as_json:
        facts: dict[str, object] = {"worktrees": [report_json(one) for one in reports]}
        facts |= {"offered": [one.worktree.id for one in offered], "removed": pruned.removed}
        facts |= {"recent": [one.worktree.id for one in recent]}
        facts |= {"forgotten": pruned.forgotten, "failed": pruned.failed, "freed_bytes": pruned.freed_bytes}
        screen.json(facts, indent=2)
    elif pruned.removed or pruned.forgotten:
        done = [f"{counted(len(pruned.removed), 'worktree')} removed ({readable(pruned.freed_bytes)})"]
        done += [f"{len(pruned.forgotten)} forgotten"] if pruned.forgotten else []
        screen.line(", ".join(done if pruned.removed else done[1:]) + "; branches remain")
    return ExitCode.AGENT_ERROR if pruned.failed else ExitCode.OK


def _before_ns(options: CommandOptions) -> int:
    if not options.has("older_than"):
        return time.time_ns()
    return moment_ns("--older-than", options.text("older_than"), time.time_ns())


async def _measured(client: Client, options: CommandOptions, screen: Screen) -> list[v1.WorktreeReport]:
    directory = "" if options.flag("all") else working_directory(options)
    reports: list[v1.WorktreeReport] = []
    screen.show_transient("Reading the worktrees…")
    try:
        async with aclosing(client.worktrees.report(directory)) as reports_stream:
            async for one in reports_stream:
                reports.append(one)
                screen.show_transient(
                    f"Measured {len(reports)} of {max(one.of, len(reports))}: {in_a_line(one.worktree.name)}"
                )
    finally:
        screen.clear_transient()
    return sorted(reports, key=lambda one: (not one.worktree.is_main, one.worktree.created_at.ToNanoseconds()))


def used_ns(one: v1.WorktreeReport) -> int:
    """Return when the worktree was last used."""
    return max(
        one.worktree.last_used_at.ToNanoseconds(),
        one.worktree.created_at.ToNanoseconds(),
        one.last_session_at.ToNanoseconds(),
    )


def _is_stale(one: v1.WorktreeReport) -> bool:
    return one.worktree.state == v1.WORKTREE_STATE_STALE


def _offered(reports: Sequence[v1.WorktreeReport], before_ns: int) -> list[v1.WorktreeReport]:
    """Return the removable worktrees that were not used since."""
    return [
        one
        for one in reports
        if (one.may_be_removed or _is_stale(one)) and not one.worktree.is_main and used_ns(one) <= before_ns
    ]


def _only(reports: Sequence[v1.WorktreeReport], named: Sequence[v1.WorktreeInfo]) -> list[v1.WorktreeReport]:
    measured = {one.worktree.id: one for one in reports}
    for one in named:
        if one.id not in measured:
            there = f"-C {shlex.quote(one.repo_path)}"
            raise CommandFailed(f"{one.name} belongs to another repository: add {there}", ExitCode.INVALID_ARGUMENTS)
    return [measured[one.id] for one in named]


def _recent(offered: Sequence[v1.WorktreeReport]) -> list[v1.WorktreeReport]:
    """Return worktrees that may still be in use: they are removed only if they are named."""
    since_ns = time.time_ns() - _RECENT_NS
    return [one for one in offered if not _is_stale(one) and used_ns(one) > since_ns]


def _skipped_text(recent: Sequence[v1.WorktreeReport]) -> str:
    if not recent:
        return ""
    names = ", ".join(one.worktree.name for one in recent[:_NAMED]) + (", …" if len(recent) > _NAMED else "")
    return f"Used within the last day (offered only by name or with --older-than): {names}"


def _show(screen: Screen, reports: Sequence[v1.WorktreeReport]) -> None:
    if not reports:
        screen.line("No worktrees")
        return
    for line in report_lines(reports, datetime.now(UTC), screen.width):
        screen.line(line)


def report_lines(reports: Sequence[v1.WorktreeReport], now: datetime, width: int) -> list[str]:
    """Return one line per worktree; if the reasons do not fit, each is on a line of its own below."""
    rows = [_row(one, now) for one in reports]
    beside = sum(2 + max(columns(row[index]) for row in (_HEADINGS, *rows)) for index in range(len(_HEADINGS) - 1))
    if beside + max(columns(one_line(one.reason, _REASON_WIDTH)) for one in reports) <= width:
        return table(_HEADINGS, rows, width)
    head, *lines = table(_HEADINGS[:-1], [row[:-1] for row in rows], width, spare=_SPARE)
    below = [[f"  {line}" for line in wrapped(one.reason, width - 2)] for one in reports]
    return [head, *(line for first, others in zip(lines, below, strict=True) for line in (first, *others))]


def _row(one: v1.WorktreeReport, now: datetime) -> tuple[str, ...]:
    size = ("over " if one.is_size_partial else "") + readable(one.size_bytes)
    used = datetime.fromtimestamp(used_ns(one) / 1e9, UTC)
    session = age(now - one.last_session_at.ToDatetime(UTC)) if one.HasField("last_session_at") else ""
    branch = " ".join(filter(None, (one.worktree.branch, BRANCHES.get(one.branch_state, ""))))
    return (
        one.worktree.name,
        "" if _is_stale(one) else size,
        age(now - used),
        branch,
        session,
        one.reason,
    )


async def _go_through(
    client: Client,
    options: CommandOptions,
    screen: Screen,
    offered: Sequence[v1.WorktreeReport],
    pruned: Pruned,
    *,
    but: str,
) -> None:
    if but:
        screen.note(but)
    if not offered:
        if not options.as_json and not but:
            screen.note("No worktree can be removed" + (" of that age" if options.has("older_than") else ""))
        return
    sure = options.flag("yes")
    if not sure and (options.as_json or not can_ask()):
        screen.note(f"{len(offered)} can be removed: add --yes, or run this in a terminal to confirm each")
        return
    for one in offered:
        if not sure:
            answer = await _answer(screen, one)
            if answer == "q":
                return
            sure = answer == "a"
            if answer == "n":
                continue
        await _remove_one(client, screen, one, pruned)


async def _answer(screen: Screen, one: v1.WorktreeReport) -> str:
    what = (
        f"Forget {in_a_line(one.worktree.name)}, which no longer exists?"
        if _is_stale(one)
        else f"Remove {in_a_line(one.worktree.name)} ({readable(one.size_bytes)}, {in_a_line(one.worktree.path)})?"
    )
    while True:
        typed = await ask_line(screen, f"{what} [y/N/all/quit] ")
        if typed in _ANSWERS:
            return _ANSWERS[typed]
        screen.note("Invalid answer: type y, n, all or quit")


async def _remove_one(client: Client, screen: Screen, one: v1.WorktreeReport, pruned: Pruned) -> None:
    worktree = one.worktree
    try:
        if _is_stale(one):
            await client.worktrees.forget(worktree.id)
            pruned.forgotten.append(worktree.id)
            screen.note(f"{in_a_line(worktree.name)} is forgotten")
            return
        screen.show_transient(f"Removing {in_a_line(worktree.name)}…")
        done = await client.worktrees.remove(worktree.id)
    except Unreachable:
        raise
    except ClientError as error:  # it has changed meanwhile; the others are still removed
        pruned.failed.append({"id": worktree.id, "name": worktree.name, "message": error.message})
        screen.show(f"{in_a_line(worktree.name)} was not removed: {error.message}")
        return
    pruned.removed.append(worktree.id)
    pruned.freed_bytes += one.size_bytes
    closed = f", {counted(done.sessions_closed, 'session')} closed" if done.sessions_closed else ""
    screen.note(f"{in_a_line(worktree.name)} is removed{closed}")
