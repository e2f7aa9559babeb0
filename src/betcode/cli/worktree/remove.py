"""`betcode worktree remove` and `restore`: show what would be lost first; forced removals can be undone."""

import shlex
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from betcode.cli.core.connect import connected
from betcode.cli.core.directory import working_directory
from betcode.cli.core.exit_codes import CommandFailed, ExitCode
from betcode.cli.core.options import CommandOptions
from betcode.cli.terminal.console import Screen, standard_screen
from betcode.cli.terminal.keyboard import can_ask
from betcode.cli.terminal.line_question import confirm
from betcode.cli.terminal.table import table
from betcode.cli.worktree.create import path_of
from betcode.cli.worktree.lookup import around, find_worktree
from betcode.cli.worktree.rendering import contents_json, contents_lines, counted, info_json, removed_json
from betcode.client import Client, Refused
from betcode.domain.error_codes import ErrorCode
from betcode.v1 import worktree_pb2 as v1
from betcode.wording.terminal_text import in_a_line, one_line
from betcode.wording.times import age

_HEADINGS = ("ID", "NAME", "BRANCH", "REMOVED", "RESTORABLE UNTIL", "HAS")
_SPARE = ("REMOVED", "BRANCH")
_LEAST_OF_AN_ID = 4


async def remove(options: CommandOptions) -> int:
    screen = standard_screen()
    here = working_directory(options)
    async with connected(options, screen, doing="Removing") as client:
        worktree = await find_worktree(client, options, options.text("name"))
        lost: v1.WorktreeContents | None = None
        if options.flag("force"):
            lost = await client.worktrees.inspect(worktree.id)
            if not lost.is_clean and not await _confirm(options, screen, worktree, lost):
                screen.line("Nothing was removed")
                return ExitCode.OK
        try:
            done = await client.worktrees.remove(worktree.id, force=options.flag("force"))
        except Refused as refusal:
            if refusal.code != ErrorCode.WORKTREE_HAS_CHANGES or options.flag("force"):
                raise
            _show(screen, options, await client.worktrees.inspect(worktree.id))
            raise CommandFailed(
                f"{in_a_line(worktree.name)} was not removed, because this would be lost: "
                "commit and push it, or add --force",
                ExitCode.INVALID_ARGUMENTS,
            ) from refusal
    if options.as_json:
        screen.json(_removed_facts(worktree, done, lost), indent=2)
    else:
        is_in_it = not options.text("cwd") and around([worktree], here) is not None
        _print_removed(screen, worktree, done, is_near=not is_in_it and Path(here).is_relative_to(worktree.repo_path))
        if worktree.is_active:
            screen.note("It was the active worktree: new sessions start in the current directory again")
        if is_in_it:
            screen.note(f"This directory was removed. Change to: cd {shlex.quote(worktree.repo_path)}")
    return ExitCode.OK


def _removed_facts(
    worktree: v1.WorktreeInfo, done: v1.RemoveWorktreeResponse, lost: v1.WorktreeContents | None
) -> dict[str, object]:
    return {
        "worktree": info_json(worktree),
        "removed": done.removed,
        "sessions_closed": done.sessions_closed,
        "removed_id": done.removed_id,
        "kept_until": done.kept_until.ToJsonString() if done.HasField("kept_until") else "",
        "lost": contents_json(lost) if lost is not None else None,
    }


def _print_removed(
    screen: Screen, worktree: v1.WorktreeInfo, done: v1.RemoveWorktreeResponse, *, is_near: bool
) -> None:
    closed = f", and {counted(done.sessions_closed, 'session')} closed" if done.sessions_closed else ""
    stays = f"; the branch {worktree.branch} remains" if worktree.branch else ""
    screen.line(f"{in_a_line(worktree.name)} is removed{closed}{stays}")
    if done.removed_id:
        until = done.kept_until.ToDatetime(UTC).astimezone().strftime("%Y-%m-%d")
        where = "" if is_near else f" -C {shlex.quote(worktree.repo_path)}"
        screen.note(f"Restore until {until} with: betcode worktree restore {done.removed_id[:13]}{where}")


def _show(screen: Screen, options: CommandOptions, lost: v1.WorktreeContents) -> None:
    if options.as_json:
        screen.json({"lost": contents_json(lost)}, indent=2)
        return
    for line in contents_lines(lost):
        screen.show(line)


async def _confirm(
    options: CommandOptions, screen: Screen, worktree: v1.WorktreeInfo, lost: v1.WorktreeContents
) -> bool:
    """Ask whether to remove the worktree with its contents; without a terminal, --force means yes."""
    if not options.as_json:
        _show(screen, options, lost)
    if options.flag("yes") or not can_ask():
        return True
    if worktree.session_count:
        screen.show(f"{counted(worktree.session_count, 'session')} in it will be closed")
    return await confirm(
        screen, f"Remove {in_a_line(worktree.name)} with all of this? It can be restored for a while [y/N] "
    )


async def restore(options: CommandOptions) -> int:
    """Restore a removed worktree; without a name, list those that can be restored."""
    if options.has("path") and not options.has("name"):
        raise CommandFailed("--path requires the name of a removed worktree", ExitCode.INVALID_ARGUMENTS)
    return await (_restore if options.has("name") else _list)(options)


async def _list(options: CommandOptions) -> int:
    screen = standard_screen()
    async with connected(options, screen, doing="Looking") as client:
        found = await _removed(client, options)
    if options.as_json:
        screen.json({"removed": [removed_json(one) for one in found]}, indent=2)
        return ExitCode.OK
    if not found:
        screen.line("Nothing to restore")
        return ExitCode.OK
    now = datetime.now(UTC)
    for line in table(_HEADINGS, [_row(one, now) for one in found], screen.width, spare=_SPARE):
        screen.line(line)
    return ExitCode.OK


def _row(one: v1.RemovedWorktree, now: datetime) -> tuple[str, ...]:
    held = (
        (one.changed_count, "change"),
        (one.untracked_count, "untracked file"),
        (one.unpushed_count, "commit"),
    )
    return (
        one.id[:13],
        one.name,
        one.branch,
        age(now - one.removed_at.ToDatetime(UTC)),
        one.kept_until.ToDatetime(UTC).astimezone().strftime("%Y-%m-%d"),
        ", ".join(counted(number, what) for number, what in held if number),
    )


async def _restore(options: CommandOptions) -> int:
    screen = standard_screen()
    text = options.text("name")
    path = path_of(options)
    async with connected(options, screen, doing="Restoring") as client:
        one = _meant(await _removed(client, options), text)
        back = await client.worktrees.restore(one.repo_path, one.id, path=path)
    if options.as_json:
        screen.json({"worktree": info_json(back), "restored_id": one.id}, indent=2)
    else:
        screen.note(f"{in_a_line(back.name)} is restored, with its changes")
        screen.line(back.path)
    return ExitCode.OK


async def _removed(client: Client, options: CommandOptions) -> Sequence[v1.RemovedWorktree]:
    """Return the removed worktrees of the repository around the directory, or of all repositories outside of one."""
    try:
        return await client.worktrees.removed(working_directory(options))
    except Refused as refusal:
        if refusal.code != ErrorCode.REPOSITORY_NOT_FOUND:
            raise
        return await client.worktrees.removed()


def _meant(removed: Sequence[v1.RemovedWorktree], text: str) -> v1.RemovedWorktree:
    found = [one for one in removed if one.id == text.lower()]
    found = found or [one for one in removed if text and text in (one.name, one.branch)]
    found = found or [one for one in removed if len(text) >= _LEAST_OF_AN_ID and one.id.startswith(text.lower())]
    shown = repr(one_line(text, 60))
    if not found:
        raise CommandFailed(
            f"No removed worktree has the name {shown}. See: betcode worktree restore", ExitCode.INVALID_ARGUMENTS
        )
    if len(found) > 1:
        few = ", ".join(one.id[:13] for one in found[:5])
        raise CommandFailed(
            f"{len(found)} removed worktrees match {shown} ({few}): give the id of one",
            ExitCode.INVALID_ARGUMENTS,
        )
    return found[0]
