"""Repositories, their worktrees, and the setup script of a worktree."""
