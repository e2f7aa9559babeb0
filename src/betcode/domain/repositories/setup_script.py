"""The setup script of a worktree and its variables, for the daemon and for commands run in a worktree."""

SCRIPT = ".betcode/worktree-setup.sh"  # below the top of a worktree


def variables_of(*, worktree_id: str, name: str, path: str, branch: str, repository: str) -> dict[str, str]:
    """Return the variables that describe a worktree to a program that runs in it."""
    return {
        "WORKTREE_PATH": path,
        "WORKTREE_BRANCH": branch,
        "BETCODE_WORKTREE_ID": worktree_id,
        "BETCODE_WORKTREE_NAME": name,
        "BETCODE_REPOSITORY": repository,
    }
