"""Reconciles the rows of a repository with git's list. No worktree is deleted here."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from betcode.domain.repositories.worktrees import (
    RepositoryRow,
    SetupState,
    WorktreeOrigin,
    WorktreeRow,
    WorktreeState,
    new_worktree_id,
)
from betcode.git.repository import ListedWorktree
from betcode.git.worktree_files import OnDisk

_BEING_CHANGED = frozenset({WorktreeState.CREATING, WorktreeState.REMOVING})


@dataclass(frozen=True, slots=True)
class RepositoryScan:
    """The worktrees that git lists for a repository, and the directories at their paths."""

    main: ListedWorktree  # or the bare repository itself
    present: Mapping[str, ListedWorktree]  # by path; those that are there
    found: Mapping[str, OnDisk]  # by path


def reconciled_rows(
    repository: RepositoryRow, rows: Sequence[WorktreeRow], look: RepositoryScan, now_ns: int
) -> tuple[list[WorktreeRow], list[WorktreeRow]]:
    """Return the existing rows brought up to date, and rows for unknown worktrees."""
    places = _places(rows, look)
    after = [
        _at(row, look.present[places[row.id]], look.found[places[row.id]]) if row.id in places else made_stale(row)
        for row in rows
    ]
    unknown = [each for path, each in look.present.items() if path not in places.values()]
    return after, _adopted(repository, rows, unknown, look, now_ns)


def made_stale(row: WorktreeRow) -> WorktreeRow:
    """Return the row of a missing worktree; one that is being created or removed is unchanged."""
    return row if row.state in _BEING_CHANGED else replace(row, state=WorktreeState.STALE)


def _places(rows: Sequence[WorktreeRow], look: RepositoryScan) -> dict[str, str]:
    """Return the path of each row's worktree: found by its marker, even if it was moved, else by its path."""
    marks = {on_disk.mark: path for path, on_disk in look.found.items() if on_disk.mark and path in look.present}
    places: dict[str, str] = {}
    # Of several rows with one path, the one that still exists comes first, then the one that was there last.
    ordered = sorted(rows, key=lambda row: (row.state is WorktreeState.STALE, -row.last_used_ns))
    for row in ordered:
        if row.git_mark in marks and marks[row.git_mark] not in places.values():
            places[row.id] = marks[row.git_mark]
    taken = set(places.values())
    for row in ordered:
        if row.id not in places and row.path in look.present and row.path not in taken:
            places[row.id] = row.path
            taken.add(row.path)
    return places


def _at(row: WorktreeRow, listed: ListedWorktree, on_disk: OnDisk) -> WorktreeRow:
    """Return the row updated from git and the files; the row of a worktree that is being created is unchanged."""
    if row.state in _BEING_CHANGED:
        return row
    return replace(
        row,
        path=listed.path,
        branch=listed.branch,
        state=WorktreeState.READY if row.state is WorktreeState.STALE else row.state,
        git_dir=on_disk.git_dir or row.git_dir,
        git_mark=on_disk.mark or row.git_mark,
    )


def _adopted(
    repository: RepositoryRow,
    rows: Sequence[WorktreeRow],
    unknown: Sequence[ListedWorktree],
    look: RepositoryScan,
    now_ns: int,
) -> list[WorktreeRow]:
    """Return rows for worktrees that other programs created."""
    names = {row.name for row in rows}
    made = []
    for listed in unknown:
        is_main = listed == look.main
        name = _free_name(os.path.basename(listed.path) or "root", names)  # noqa: PTH119 - it is a name
        names.add(name)
        made.append(
            WorktreeRow(
                id=new_worktree_id(),
                repository=repository.id,
                name=name,
                path=listed.path,
                branch=listed.branch,
                origin=WorktreeOrigin.MAIN if is_main else WorktreeOrigin.ADOPTED,
                state=WorktreeState.READY,
                created_ns=now_ns,
                last_used_ns=now_ns,
                git_dir=look.found[listed.path].git_dir,
                git_mark=look.found[listed.path].mark,
                setup=SetupState.NONE if is_main else SetupState.SKIPPED,
            )
        )
    return made


def _free_name(wanted: str, taken: Iterable[str]) -> str:
    names = frozenset(taken)
    numbered = (f"{wanted}-{number}" for number in range(2, len(names) + 3))
    return next(name for name in (wanted, *numbered) if name not in names)
