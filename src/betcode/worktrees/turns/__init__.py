"""Snapshots of a worktree per turn, and the diffs between them."""
