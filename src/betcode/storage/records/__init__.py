"""SQL of worktrees and of the reports of other programs."""
