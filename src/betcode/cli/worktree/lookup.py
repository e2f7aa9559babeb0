"""Find a worktree by name, branch, id or path, or the one that contains the current directory."""

from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from betcode.cli.core.directory import working_directory
from betcode.cli.core.exit_codes import CommandFailed, ExitCode
from betcode.cli.core.options import CommandOptions
from betcode.client import Client, Refused
from betcode.domain.error_codes import ErrorCode
from betcode.v1 import worktree_pb2 as v1
from betcode.wording.terminal_text import one_line

_LEAST_OF_AN_ID = 4
_SHOWN = 60
Worktrees = Sequence[v1.WorktreeInfo]


async def find_worktree(client: Client, options: CommandOptions, text: str) -> v1.WorktreeInfo:
    """Find one worktree; names and branches are those of the repository around the directory.

    Outside of a repository, all known worktrees are searched.

    Raises:
        CommandFailed: no worktree matches, or several do.
    """
    directory = working_directory(options)
    near = await worktrees_near(client, directory)
    if near is not None and (found := _called(near, text)):
        return _only(found, text)
    if found := await _at_path(client, options, near, text):
        return _only(found, text)
    everywhere = await client.worktrees.list()
    if near is None and (found := _called(everywhere, text)):
        return _only(found, text)
    if found := [one for one in everywhere if len(text) >= _LEAST_OF_AN_ID and one.id.startswith(text.lower())]:
        return _only(found, text)
    raise CommandFailed(
        f"No worktree has the name {_shown(text)}. See: betcode worktree list", ExitCode.INVALID_ARGUMENTS
    )


async def worktrees_near(client: Client, directory: str) -> Worktrees | None:
    """Return the worktrees of the repository around a directory; None outside of one."""
    try:
        return await client.worktrees.list(directory)
    except Refused as refusal:
        if refusal.code != ErrorCode.REPOSITORY_NOT_FOUND:
            raise
        return None


def around(worktrees: Worktrees, directory: str) -> v1.WorktreeInfo | None:
    """Return the innermost worktree that contains a directory."""
    inside = [one for one in worktrees if PurePosixPath(directory).is_relative_to(one.path)]
    return max(inside, key=lambda one: len(one.path), default=None)


def _called(worktrees: Worktrees, text: str) -> list[v1.WorktreeInfo]:
    exact = [one for one in worktrees if one.id == text.lower()]
    return exact or [one for one in worktrees if text and text in (one.name, one.branch)]


async def _at_path(client: Client, options: CommandOptions, near: Worktrees | None, text: str) -> list[v1.WorktreeInfo]:
    """Return the worktree that contains a path of this machine, relative to the current directory."""
    if text != "." and "/" not in text and not text.startswith("~"):
        return []
    base = Path(working_directory(options))
    try:
        path = base if text == "." else (base / Path(text).expanduser()).resolve()
        is_there = path.is_dir()
    except (OSError, RuntimeError, ValueError):  # too long, a loop, no such user, or a byte that no path contains
        return []
    here = near if text == "." or not is_there else await worktrees_near(client, str(path))
    found = around(here or (), str(path))
    if text == "." and found is None:
        raise CommandFailed(f"{base} is not in a worktree: give a worktree's name", ExitCode.INVALID_ARGUMENTS)
    if text == "." or is_there:
        return [found] if found is not None else []
    return [one for one in await client.worktrees.list() if one.path == str(path)]


def _only(found: Sequence[v1.WorktreeInfo], text: str) -> v1.WorktreeInfo:
    if len(found) > 1:
        few = ", ".join(f"{one.id[:13]} {one.path}" for one in found[:3]) + (", …" if len(found) > 3 else "")
        raise CommandFailed(
            f"{len(found)} worktrees match {_shown(text)} ({few}): give the id or the path",
            ExitCode.INVALID_ARGUMENTS,
        )
    return found[0]


def _shown(text: str) -> str:
    return repr(one_line(text, _SHOWN))
