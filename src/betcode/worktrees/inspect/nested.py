"""Finds foreign directories inside a worktree: other repositories, the home directory, our own files."""

import os
from pathlib import Path

import anyio.to_thread

from betcode.worktrees.catalog.registry import SeenWorktree
from betcode.worktrees.context import WorktreeContext


async def find_nested(context: WorktreeContext, seen: SeenWorktree) -> str:
    """Return another repository, the user's home or our own files, in a worktree or at its path; empty: none.

    Files that git ignores are deleted with a worktree, and the worktree's creator controls what git ignores.
    """
    # Submodules are part of it: git has them in its own directory.
    own = Path(seen.repository.common_dir)
    every = await context.store.repositories()
    others = {each.id: each for each in every if not Path(each.common_dir).is_relative_to(own)}
    places = [path for each in others.values() for path in (each.common_dir, each.path)]
    places += [row.path for row in await context.store.worktrees() if row.repository in others]
    places += [str(context.state_dir), os.path.expanduser("~")]  # noqa: PTH111 - it need not be there
    return await anyio.to_thread.run_sync(_first_in, Path(seen.row.path), places, abandon_on_cancel=True)


def _first_in(top: Path, places: list[str]) -> str:
    """It may block."""
    real = ((each, Path(os.path.realpath(each))) for each in places)
    return next((each for each, path in real if path.is_relative_to(top) and path.exists()), "")
