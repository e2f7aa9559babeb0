"""Which repositories and worktrees there are: what git lists is true, and the rows follow it."""

import logging
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread

from betcode.domain.errors import (
    AmbiguousWorktree,
    GitFailed,
    InvalidRequest,
    RepositoryNotFound,
    WorktreeNotFound,
)
from betcode.domain.worktrees import (
    NO_SESSIONS,
    Origin,
    RepositoryId,
    RepositoryRow,
    SetupState,
    WorktreeId,
    WorktreeRow,
    WorktreeSessions,
    WorktreeState,
    new_repository_id,
    new_worktree_id,
)
from betcode.git.repository import ListedWorktree, git_directory, listed_worktrees, place_of
from betcode.worktrees.queues import Queues
from betcode.worktrees.room import WorktreeRoom

logger = logging.getLogger(__name__)

_BEING_CHANGED = frozenset({WorktreeState.CREATING, WorktreeState.REMOVING})


@dataclass(frozen=True, slots=True)
class SeenWorktree:
    """A worktree as it is now: its row, what git says of it, and its sessions."""

    repository: RepositoryRow
    row: WorktreeRow
    git: ListedWorktree | None  # None: git does not know it
    sessions: WorktreeSessions = NO_SESSIONS

    @property
    def is_active(self) -> bool:
        return self.repository.active_worktree == self.row.id


class Registry:
    """The rows, brought up to date whenever somebody looks. No worktree is ever deleted here."""

    def __init__(self, room: WorktreeRoom) -> None:
        self._room = room
        self._writing = anyio.Lock()  # of two who look at once the second sees the rows of the first
        self._rows = Queues()  # read and written in one turn: nobody writes back what somebody else has changed

    async def repository_of(self, directory: str) -> RepositoryRow:
        """The repository that a directory belongs to; one that was not known is from now on.

        Raises:
            InvalidRequest, RepositoryNotFound, GitFailed
        """
        if not Path(directory).is_absolute() or "\0" in directory:
            raise InvalidRequest(f"{directory[:200]!r} is no whole path: give one that begins with /")
        if not await anyio.to_thread.run_sync(Path(directory).is_dir):
            raise RepositoryNotFound(f"{directory[:500]} is no directory: name one of a git repository")
        common_dir = (await place_of(self._room.git, directory)).common_dir
        async with self._writing:
            known = await self._room.store.repositories()
            found = next((row for row in known if row.common_dir == common_dir), None)
            return found or await self._register(common_dir)

    async def _register(self, common_dir: str) -> RepositoryRow:
        main = (await listed_worktrees(self._room.git, common_dir))[0]
        now_ns = time.time_ns()
        row = RepositoryRow(new_repository_id(), common_dir, main.path, main.is_bare, now_ns, now_ns)
        await self._room.store.save_repository(row)
        logger.info("a repository is known from now on", extra={"repository": row.path})
        return row

    async def repository(self, repository: RepositoryId) -> RepositoryRow:
        """Raises RepositoryNotFound."""
        for row in await self._room.store.repositories():
            if row.id == repository:
                return row
        raise RepositoryNotFound("The repository is not known any more")

    async def find(self, text: str) -> WorktreeRow:
        """The worktree of that id, or of which only one id begins so.

        Raises:
            WorktreeNotFound, AmbiguousWorktree
        """
        rows = await self._room.store.worktrees()
        wanted = text.lower()
        exact = [row for row in rows if row.id == wanted]
        found = exact or [row for row in rows if len(wanted) >= 8 and row.id.startswith(wanted)]
        if not found:
            raise WorktreeNotFound(text[:100])
        if len(found) > 1:
            raise AmbiguousWorktree(text[:100])
        return found[0]

    async def seen(self, repository: RepositoryRow) -> list[SeenWorktree]:
        """The worktrees of a repository as they are now, the main one first, from one call of git.

        Raises:
            GitFailed
        """
        async with self._rows.turn(repository.id):
            listed = await listed_worktrees(self._room.git, repository.common_dir)
            rows, by_path = await self._brought_up_to_date(repository, listed)
        sessions = await self._room.store.sessions_of([row.id for row in rows])
        repository = await self.repository(repository.id)
        return [
            SeenWorktree(repository, row, by_path.get(row.path), sessions.get(row.id, NO_SESSIONS))
            for row in sorted(rows, key=lambda row: (row.origin is not Origin.MAIN, row.created_ns, row.id))
        ]

    async def seen_one(self, worktree: WorktreeId) -> SeenWorktree:
        """Raises WorktreeNotFound, GitFailed."""
        row = await self._room.store.worktree(worktree)
        if row is None:
            raise WorktreeNotFound(worktree)
        for seen in await self.seen(await self.repository(row.repository)):
            if seen.row.id == worktree:
                return seen
        raise WorktreeNotFound(worktree)

    async def save(self, row: WorktreeRow) -> None:
        """A new row, or all of one that nobody else changes.

        Raises:
            WorktreeExists: another one has the name, in its repository, or the path.
        """
        async with self._rows.turn(row.repository):
            await self._room.store.save_worktrees([row])

    async def change(self, worktree: WorktreeId, **facts: Any) -> WorktreeRow:
        """The row with other values in the fields that are named, whatever became of the rest of it meanwhile.

        Raises:
            WorktreeNotFound: it was forgotten.
        """
        row = await self._room.store.worktree(worktree)
        if row is None:
            raise WorktreeNotFound(worktree)
        async with self._rows.turn(row.repository):
            row = await self._room.store.worktree(worktree)
            if row is None:
                raise WorktreeNotFound(worktree)
            changed = replace(row, **facts)
            await self._room.store.save_worktrees([changed])
            return changed

    async def forget(self, row: WorktreeRow) -> None:
        """The worktree is gone; who looks at this moment does not bring its row back."""
        async with self._rows.turn(row.repository):
            await self._room.store.forget_worktree(row.id)

    async def seen_everywhere(self) -> list[SeenWorktree]:
        """Those of all repositories that are known; of one that cannot be read, its rows as they are."""
        found: list[SeenWorktree] = []
        for repository in await self._room.store.repositories():
            try:
                found += await self.seen(repository)
            except GitFailed as trouble:
                logger.warning("the worktrees of %s cannot be listed: %s", repository.path, trouble.message)
                async with self._rows.turn(repository.id):
                    rows = await self._room.store.worktrees(repository.id)
                    await self._save(_made_stale(rows), rows)
                    rows = await self._room.store.worktrees(repository.id)
                sessions = await self._room.store.sessions_of([row.id for row in rows])
                found += [SeenWorktree(repository, row, None, sessions.get(row.id, NO_SESSIONS)) for row in rows]
        return found

    async def _brought_up_to_date(
        self, repository: RepositoryRow, listed: Sequence[ListedWorktree]
    ) -> tuple[Sequence[WorktreeRow], Mapping[str, ListedWorktree]]:
        present = [each for each in listed if not each.is_bare and not each.prunable]
        by_path = {each.path: each for each in present}
        rows = await self._room.store.worktrees(repository.id)
        unknown = [path for path in by_path if path not in {row.path for row in rows}]
        gone = [row for row in rows if row.path not in by_path]
        git_dirs = {}
        if unknown:
            git_dirs = await anyio.to_thread.run_sync(lambda: {path: git_directory(path) for path in unknown})
        rows = _moved(rows, gone, git_dirs)
        changed = [
            *(_followed(row, by_path[row.path]) for row in rows if row.path in by_path),
            *_adopted(repository, rows, [by_path[path] for path in unknown], git_dirs, present[:1]),
            *_made_stale([row for row in rows if row.path not in by_path]),
        ]
        await self._save(changed, await self._room.store.worktrees(repository.id))
        return await self._room.store.worktrees(repository.id), by_path

    async def _save(self, rows: Iterable[WorktreeRow], before: Sequence[WorktreeRow]) -> None:
        known = {row.id: row for row in before}
        changed = [row for row in rows if known.get(row.id) != row]
        for row in changed:
            was = known.get(row.id)
            if was is None:
                logger.info("a worktree is known from now on", extra={"worktree": row.name, "path": row.path})
            elif row.state is WorktreeState.STALE is not was.state:
                logger.warning("a worktree is gone; its row is kept", extra={"worktree": row.name, "path": row.path})
        if changed:
            await self._room.store.save_worktrees(changed)


def _followed(row: WorktreeRow, listed: ListedWorktree) -> WorktreeRow:
    """The row after what git says of the worktree now."""
    state = WorktreeState.READY if row.state is WorktreeState.STALE else row.state
    return replace(row, branch=listed.branch, state=state)


def _moved(rows: Sequence[WorktreeRow], gone: Sequence[WorktreeRow], git_dirs: Mapping[str, str]) -> list[WorktreeRow]:
    """A worktree that somebody moved with git has kept git's directory of it."""
    now_at = {git_dir: path for path, git_dir in git_dirs.items() if git_dir}
    moved = {row.id: now_at[row.git_dir] for row in gone if row.git_dir in now_at}
    return [replace(row, path=moved[row.id]) if row.id in moved else row for row in rows]


def _adopted(
    repository: RepositoryRow,
    rows: Sequence[WorktreeRow],
    unknown: Sequence[ListedWorktree],
    git_dirs: Mapping[str, str],
    main: Sequence[ListedWorktree],
) -> list[WorktreeRow]:
    """Rows for worktrees that somebody else made."""
    known = {row.path for row in rows}
    names = {row.name for row in rows}
    now_ns = time.time_ns()
    made = []
    for listed in unknown:
        if listed.path in known:
            continue
        is_main = not repository.is_bare and listed in main
        name = _free_name(os.path.basename(listed.path) or "root", names)  # noqa: PTH119 - it is a name
        names.add(name)
        made.append(
            WorktreeRow(
                id=new_worktree_id(),
                repository=repository.id,
                name=name,
                path=listed.path,
                branch=listed.branch,
                origin=Origin.MAIN if is_main else Origin.ADOPTED,
                state=WorktreeState.READY,
                created_ns=now_ns,
                last_used_ns=now_ns,
                git_dir=git_dirs.get(listed.path, ""),
                setup=SetupState.NONE if is_main else SetupState.SKIPPED,
            )
        )
    return made


def _free_name(wanted: str, taken: Iterable[str]) -> str:
    names = frozenset(taken)
    numbered = (f"{wanted}-{number}" for number in range(2, len(names) + 3))
    return next(name for name in (wanted, *numbered) if name not in names)


def _made_stale(gone: Sequence[WorktreeRow]) -> list[WorktreeRow]:
    return [replace(row, state=WorktreeState.STALE) for row in gone if row.state not in _BEING_CHANGED]
