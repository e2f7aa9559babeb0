"""The list of repositories and worktrees, reconciled with git."""
