"""Inspects what would be lost if a worktree were removed now."""

import anyio.to_thread

from betcode.domain.errors import WorktreeUnusable
from betcode.domain.values.phrases import placed
from betcode.git.command import Git
from betcode.git.repository import git_directory
from betcode.git.tree import Tree
from betcode.worktrees.catalog.registry import SeenWorktree
from betcode.worktrees.inspect.contents import Contents, contents_of
from betcode.worktrees.inspect.refusals import called


async def inspect(git: Git, seen: SeenWorktree) -> Contents:
    """Raises WorktreeUnusable, GitFailed."""
    if not seen.is_there:
        raise WorktreeUnusable(f"{called(seen)} no longer exists: there is nothing to inspect")
    return await contents_of(git, await tree_of(seen), seen.row)


async def tree_of(seen: SeenWorktree) -> Tree:
    """Return its tree; raises WorktreeUnusable if its .git file is missing."""
    git_dir = await anyio.to_thread.run_sync(git_directory, seen.row.path)
    if not git_dir:
        raise WorktreeUnusable(f"{placed(seen.row.path)} has no .git file: repair it with git worktree repair")
    return Tree(seen.row.path, git_dir, seen.repository.common_dir)
