"""Worktrees of git repositories: found, made, switched to, removed and restored. Sessions run in them."""

from betcode.worktrees.branches import SeenBranch
from betcode.worktrees.desk import Worktrees, open_worktrees
from betcode.worktrees.registry import SeenWorktree
from betcode.worktrees.switching import Switched
from betcode.worktrees.words import trouble_of

__all__ = ["SeenBranch", "SeenWorktree", "Switched", "Worktrees", "open_worktrees", "trouble_of"]
