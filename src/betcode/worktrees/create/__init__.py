"""Creates worktrees and runs their setup."""
