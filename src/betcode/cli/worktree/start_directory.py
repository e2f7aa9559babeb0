"""Choose the directory of a new session: a given worktree, a given directory, or the active worktree."""

import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from betcode.cli.core.directory import working_directory
from betcode.cli.core.exit_codes import CommandFailed, ExitCode
from betcode.cli.core.options import CommandOptions
from betcode.cli.session.lookup import find_summary
from betcode.cli.session.new_session import new_conversation
from betcode.cli.terminal.console import Screen
from betcode.cli.worktree.lookup import around, find_worktree, worktrees_near
from betcode.client import Client
from betcode.v1 import worktree_pb2 as v1


async def started_session(client: Client, options: CommandOptions, screen: Screen) -> str:
    """Start a session and return its id.

    Without a given directory it may start in the active worktree, and a line says so.

    Raises:
        CommandFailed: there is no such worktree, or two directories were given.
    """
    new = new_conversation(options)
    if options.has("worktree"):
        worktree = await named_worktree(client, options)
        return await client.start_session(
            replace(new, working_directory=worktree.path, worktree_id=worktree.id, in_active_worktree=False)
        )
    session_id = await client.start_session(new)
    if new.in_active_worktree and (options.paths.remote is not None or may_lead_elsewhere(new.working_directory)):
        await _print_directory(client, screen, session_id, new.working_directory)
    return session_id


async def named_worktree(client: Client, options: CommandOptions) -> v1.WorktreeInfo:
    """Return the worktree of --worktree.

    Raises:
        CommandFailed: there is none, or --cwd names another directory.
    """
    if options.text("cwd"):
        raise CommandFailed("Give either --worktree or --cwd", ExitCode.INVALID_ARGUMENTS)
    return await find_worktree(client, options, options.text("worktree"))


async def active_elsewhere(client: Client, options: CommandOptions) -> v1.WorktreeInfo | None:
    """Return the active worktree if the current directory is in another, the main one; it may be missing."""
    here = working_directory(options)
    if not may_lead_elsewhere(here):
        return None
    worktrees = await worktrees_near(client, here) or ()
    own = around(worktrees, here)
    if own is None or not own.is_main:
        return None
    return _active(worktrees)


def may_lead_elsewhere(directory: str) -> bool:
    """Whether a directory is in the main worktree of a repository with others; from files alone, for every start."""
    for parent in (Path(directory), *Path(directory).parents):
        git = parent / ".git"
        try:
            if git.is_dir():
                return any((git / "worktrees").iterdir())
            if git.exists():
                return False  # a linked worktree, or a submodule
        except OSError:
            return False
    return False


def _active(worktrees: Sequence[v1.WorktreeInfo]) -> v1.WorktreeInfo | None:
    return next((one for one in worktrees if one.is_active and not one.is_main), None)


def note_missing_worktree(screen: Screen, active: v1.WorktreeInfo) -> None:
    """Print why the session does not start in the active worktree."""
    end = f"betcode worktree switch {shlex.quote(active.repo_path)}"
    screen.note(
        f"The active worktree {active.name} does not exist; using the main worktree. To make that permanent: {end}"
    )


async def _print_directory(client: Client, screen: Screen, session_id: str, requested: str) -> None:
    summary = await find_summary(client, session_id)
    worktrees = await worktrees_near(client, summary.working_directory) or ()
    if summary.working_directory == requested:
        own, active = around(worktrees, requested), _active(worktrees)
        if own is not None and own.is_main and active is not None and active.state != v1.WORKTREE_STATE_READY:
            note_missing_worktree(screen, active)
        return
    name = next((one.name for one in worktrees if one.id == summary.worktree_id), summary.working_directory)
    screen.note(f"In worktree {name} (active): {summary.working_directory}")
