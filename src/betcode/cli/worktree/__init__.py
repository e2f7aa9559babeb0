"""`betcode worktree`."""
