"""The reasons to refuse the removal of a worktree."""

import os
from collections.abc import Sequence

from betcode.domain.errors import WorktreeHasChanges, WorktreeUnusable
from betcode.domain.repositories.worktrees import SetupState, WorktreeOrigin, WorktreeState
from betcode.domain.values.phrases import counted, named, placed
from betcode.git.repository import ListedWorktree
from betcode.worktrees.catalog.registry import SeenWorktree
from betcode.worktrees.inspect.contents import Contents


def called(seen: SeenWorktree) -> str:
    return f"The worktree {named(seen.row.name)}"


def refuse_what_is_never_removed(seen: SeenWorktree) -> None:
    """Raises WorktreeUnusable."""
    row = seen.row
    if row.origin is WorktreeOrigin.MAIN:
        raise WorktreeUnusable(f"{called(seen)} is the repository itself, not one of its worktrees: it is not removed")
    if row.state in (WorktreeState.CREATING, WorktreeState.REMOVING) or row.setup is SetupState.RUNNING:
        raise WorktreeUnusable(f"{called(seen)} is being made, set up or removed: wait until that is done")
    if seen.git is not None and seen.git.is_locked:
        why = f" ({named(seen.git.locked)})" if seen.git.locked else ""
        raise WorktreeUnusable(
            f"{called(seen)} is locked{why}: unlock it first, with git worktree unlock {placed(row.path)}"
        )


def refuse_nested(seen: SeenWorktree, listed: Sequence[ListedWorktree]) -> None:
    """Raise WorktreeUnusable if another worktree of its repository is inside it."""
    inside = [each.path for each in listed if each.path.startswith(seen.row.path + os.sep) and not each.prunable]
    if inside:
        raise WorktreeUnusable(f"{called(seen)} contains another worktree: remove {placed(inside[0])} first")


def refuse_at_work(seen: SeenWorktree) -> None:
    """Raises WorktreeUnusable: a turn is open in one of its sessions."""
    if seen.sessions.at_work_count:
        at_work = counted(seen.sessions.at_work_count, "session", [seen.sessions.active])
        where = f"{at_work} of the worktree {named(seen.row.name)}"
        raise WorktreeUnusable(f"A turn is open in {where}: wait for its end, or remove it by force (--force)")


def refuse_loss(seen: SeenWorktree, contents: Contents, *, force: bool) -> None:
    """Raise WorktreeHasChanges if something would be lost, or cannot be saved although the removal is forced."""
    if contents.is_clean:
        return
    has = f"{called(seen)} has {contents.words}"
    if contents.repositories:
        place = named(contents.repositories[0])
        raise WorktreeHasChanges(f"{has}: it cannot be saved; move {place} elsewhere, or delete it, first")
    if any(each.is_within for each in contents.submodules):
        raise WorktreeHasChanges(f"{has}: it cannot be saved in this state; run git submodule absorbgitdirs first")
    if not force:
        raise WorktreeHasChanges(f"{has}: commit and push them, or remove it by force (--force)")
