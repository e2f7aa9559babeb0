"""Worktrees of git repositories: found, made, switched to, removed and restored. Sessions run in them."""

from betcode.worktrees.desk import Worktrees, open_worktrees
from betcode.worktrees.registry import SeenWorktree

__all__ = ["SeenWorktree", "Worktrees", "open_worktrees"]
