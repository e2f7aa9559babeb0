"""Examines a worktree: what it contains and what a removal would lose."""
