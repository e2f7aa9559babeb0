"""Checks the directories of worktrees. The checks may block: run them off the event loop."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from betcode.domain.repositories.worktrees import WorktreeRow, WorktreeState
from betcode.domain.values.text import is_valid
from betcode.git.repository import ListedWorktree, nearest_top
from betcode.git.worktree_files import NOTHING, OnDisk, on_disk
from betcode.worktrees.catalog.reconcile import RepositoryScan


@dataclass(frozen=True, slots=True)
class DirectoryState:
    """A directory, seen from the files."""

    directory: str  # links followed
    top: str  # of the worktree that contains it, as far as files show; empty: none
    found: OnDisk = NOTHING


def directory_states(common_dir: str, main_path: str, listed: Sequence[ListedWorktree]) -> RepositoryScan:
    """Return the directories at the paths that git lists; without a `common_dir` nothing is checked."""
    main = listed[0]
    # If the git directory is not in the main worktree (as in a submodule), git names that directory instead.
    if common_dir and not main.is_bare and on_disk(main.path).git_dir != common_dir:
        main = replace(main, path=main_path) if on_disk(main_path).git_dir == common_dir else main
    # A path that is not UTF-8 can be neither stored nor sent: such a worktree is ignored.
    every = [each for each in (main, *listed[1:]) if not each.is_bare and is_valid(each.path)]
    found = {each.path: on_disk(each.path) if common_dir else NOTHING for each in every}
    present = {
        each.path: each
        for each in every
        if not each.prunable and (not common_dir or _is_of(found[each.path].git_dir, common_dir))
    }
    return RepositoryScan(main, present, found)


def all_there(paths: Sequence[str]) -> frozenset[str]:
    """Those at which a worktree is."""
    return frozenset(path for path in paths if on_disk(path).git_dir)


def directory_state(directory: str) -> DirectoryState:
    """It may block."""
    real = os.path.realpath(directory)
    top = nearest_top(real)
    if not top or Path(real).is_relative_to(Path(top) / ".git"):  # git's own files
        return DirectoryState(real, "")
    return DirectoryState(real, top, on_disk(top))


def row_at(rows: Sequence[WorktreeRow], spot: DirectoryState) -> WorktreeRow | None:
    """Return the row of the worktree that contains a directory, if files and rows show that without git."""
    for row in rows if spot.top else ():
        if row.path == spot.top and row.state is not WorktreeState.STALE and is_same(row, spot.found):
            return row
    return None


def is_same(row: WorktreeRow, found: OnDisk) -> bool:
    """Return whether it is the same worktree: another worktree or repository may have been created at its path."""
    return bool(found.git_dir) and row.git_dir in ("", found.git_dir) and row.git_mark in ("", found.mark)


def _is_of(git_dir: str, common_dir: str) -> bool:
    """Return whether it belongs to the repository: another one may have been created at its path."""
    return git_dir == common_dir or Path(git_dir).parent == Path(common_dir) / "worktrees"
