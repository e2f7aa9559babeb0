"""Remove worktrees, save what was removed, and restore it."""
