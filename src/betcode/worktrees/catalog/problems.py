"""Error messages for worktrees that cannot be used."""

import shlex

from betcode.domain.repositories.worktrees import WorktreeOrigin, WorktreeRow, WorktreeState


def why_unusable(row: WorktreeRow) -> str:
    """Return why it cannot be used now, and the remedy."""
    match row.state:
        case WorktreeState.CREATING:
            return f"The worktree {row.name} is still being made: try again when it is ready"
        case WorktreeState.REMOVING:
            return f"The worktree {row.name} is being removed: start a session elsewhere"
        case WorktreeState.STALE | WorktreeState.READY:
            return f"The worktree {row.name} is missing at {row.path}: {_remedy(row)}, or start a new session elsewhere"


def problem_of(row: WorktreeRow) -> str:
    """Return the problem and the remedy in one sentence; empty if there is none."""
    if row.state is WorktreeState.STALE:
        return f"It is missing at {row.path}: {_remedy(row)}, or forget it with `betcode worktree prune`"
    return row.trouble or row.setup_note


def _remedy(row: WorktreeRow) -> str:
    if row.origin is WorktreeOrigin.MAIN:
        return "bring the repository back"
    if row.branch:
        name = "" if row.name == row.branch else f" --name {shlex.quote(row.name)}"
        return f"bring it back with `betcode worktree create {shlex.quote(row.branch)}{name}`"
    return "bring its directory back"
