"""Removes worktrees, keeps what was removed, and restores it."""
