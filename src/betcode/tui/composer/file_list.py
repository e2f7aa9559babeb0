"""Lists the files below a directory that can be named in a message, without those that git ignores."""

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import aclosing

import anyio
import anyio.to_thread

from betcode.domain.errors import BetcodeError
from betcode.git.command import Git
from betcode.git.records import records
from betcode.tui.composer.completion import can_be_mentioned

LIMIT = 50_000  # files
_BOUND_S = 10.0
_WALK_S = 3.0


async def list_files(directory: str) -> Sequence[str]:
    """Return paths below the directory, with their directories; none if it is not on this machine.

    Time and number are limited: in a large directory the result is incomplete.
    """
    if not await anyio.to_thread.run_sync(os.path.isdir, directory, abandon_on_cancel=True):
        return ()
    found: list[str] = []
    try:
        with anyio.move_on_after(_BOUND_S):
            await _ask_git(directory, found)
    except BetcodeError:
        found = await anyio.to_thread.run_sync(walked, directory, abandon_on_cancel=True)
    return await anyio.to_thread.run_sync(with_directories, found, abandon_on_cancel=True)


def with_directories(paths: Sequence[str]) -> Sequence[str]:
    """Return the paths that a message can contain, and their directories."""
    whole: dict[str, None] = {}
    for path in paths:
        if can_be_mentioned(path):
            whole[path] = None
            parent = path.rpartition("/")[0]
            while parent and f"{parent}/" not in whole:
                whole[f"{parent}/"] = None
                parent = parent.rpartition("/")[0]
    return tuple(whole)


def walked(directory: str, limit: int = LIMIT) -> list[str]:
    """List files without git: no hidden ones, no links, within a few seconds."""
    found: list[str] = []
    until = time.monotonic() + _WALK_S
    for path in _files_below(directory):
        found.append(path)
        if len(found) >= limit or time.monotonic() > until:
            break
    return found


def _files_below(directory: str) -> Iterator[str]:
    for top, directories, files in os.walk(directory):
        directories[:] = sorted(name for name in directories if not name.startswith("."))
        below = os.path.relpath(top, directory)
        for name in sorted(files):
            yield name if below == "." else f"{below}/{name}"


async def _ask_git(directory: str, found: list[str]) -> None:
    git = Git(os.environ)
    listed = records(git.stream("ls-files", "-co", "--exclude-standard", "-z", at=directory, bound_s=_BOUND_S))
    async with aclosing(listed):
        async for path in listed:
            found.append(path)
            if len(found) >= LIMIT:
                return
