"""The registry of worktrees: git's list is authoritative, and the rows follow it."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import anyio

from betcode.domain.bounded_io import FilesystemTimeout
from betcode.domain.errors import (
    AmbiguousWorktree,
    BetcodeError,
    WorktreeNotFound,
)
from betcode.domain.repositories.worktrees import (
    NO_SESSIONS,
    RepositoryId,
    RepositoryRow,
    WorktreeId,
    WorktreeOrigin,
    WorktreeRow,
    WorktreeSessions,
    WorktreeState,
)
from betcode.git.repository import ListedWorktree, listed_worktrees
from betcode.util.wall_clock import now_ns
from betcode.worktrees.catalog.reconcile import RepositoryScan, made_stale, reconciled_rows
from betcode.worktrees.catalog.repositories import Repositories
from betcode.worktrees.context import WorktreeContext
from betcode.worktrees.path_checks import all_there, directory_states
from betcode.worktrees.repository_queue import RepositoryQueues

logger = logging.getLogger(__name__)

_AT_ONCE = 8  # repositories that are checked
_LOOK_WITHIN_S = 10.0


@dataclass(frozen=True, slots=True)
class SeenWorktree:
    """A worktree as it is now: its row, git's entry, and its sessions."""

    repository: RepositoryRow
    row: WorktreeRow
    git: ListedWorktree | None  # None: git does not list it, or it is missing and not locked
    sessions: WorktreeSessions = NO_SESSIONS

    @property
    def is_there(self) -> bool:
        """Return whether git lists it, and it is at that path."""
        return self.git is not None and self.row.state is not WorktreeState.STALE

    @property
    def is_active(self) -> bool:
        return self.repository.active_worktree == self.row.id


class WorktreeRegistry:
    """The rows, updated on every access. This class never deletes a worktree."""

    def __init__(self, context: WorktreeContext) -> None:
        self._context = context
        self.repositories = Repositories(context)
        self._rows = RepositoryQueues()  # read and written in one turn, so that no concurrent change is overwritten

    async def find(self, text: str) -> WorktreeRow:
        """The worktree of that id, or of which only one id begins so.

        Raises:
            WorktreeNotFound, AmbiguousWorktree
        """
        rows = await self._context.store.worktrees()
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
            listed = await listed_worktrees(self._context.git, repository.common_dir)
            look = await self._look(repository, listed)
            rows = await self._brought_up_to_date(repository, look)
        named = {each.path: each for each in listed if each.is_locked} | dict(look.present)
        return await self._with_sessions(repository, rows, named)

    async def seen_one(self, worktree: WorktreeId) -> SeenWorktree:
        """Raises WorktreeNotFound, GitFailed."""
        row = await self._context.store.worktree(worktree)
        if row is None:
            raise WorktreeNotFound(worktree)
        for seen in await self.seen(await self.repositories.get(row.repository)):
            if seen.row.id == worktree:
                return seen
        raise WorktreeNotFound(worktree)

    async def save(self, row: WorktreeRow) -> None:
        """Write a new row, or all of one that has no other writer.

        Raises:
            WorktreeExists: another one has the name, in its repository, or the path.
        """
        async with self._rows.turn(row.repository):
            await self._context.store.save_worktrees([row])

    async def change(self, worktree: WorktreeId, **facts: Any) -> WorktreeRow:
        """Change the named fields of the row; other fields may have changed meanwhile.

        Raises:
            WorktreeNotFound: it was forgotten.
        """
        row = await self._context.store.worktree(worktree)
        if row is None:
            raise WorktreeNotFound(worktree)
        async with self._rows.turn(row.repository):
            row = await self._context.store.worktree(worktree)
            if row is None:
                raise WorktreeNotFound(worktree)
            changed = replace(row, **facts)
            await self._context.store.save_worktrees([changed])
            return changed

    async def forget(self, row: WorktreeRow) -> None:
        """Delete the row of a removed worktree; a concurrent reader does not restore it."""
        async with self._rows.turn(row.repository):
            await self._context.store.forget_worktree(row.id)

    async def seen_everywhere(self) -> list[SeenWorktree]:
        """Return those of all known repositories; if one cannot be read, its rows as far as the files show."""
        repositories = await self._context.store.repositories()
        found: dict[RepositoryId, list[SeenWorktree]] = {}
        limit = anyio.CapacityLimiter(_AT_ONCE)

        async def see(repository: RepositoryRow) -> None:
            async with limit:
                found[repository.id] = await self.seen_if_possible(repository)

        async with anyio.create_task_group() as tasks:
            for repository in repositories:
                tasks.start_soon(see, repository)
        return [seen for repository in repositories for seen in found[repository.id]]

    async def seen_if_possible(self, repository: RepositoryRow) -> list[SeenWorktree]:
        """Like `seen`; if git fails, the rows as far as the files show."""
        trouble = f"git did not answer within {_LOOK_WITHIN_S:g} s"
        with anyio.move_on_after(_LOOK_WITHIN_S):
            try:
                return await self.seen(repository)
            except BetcodeError as failed:
                trouble = failed.message
        logger.warning("the worktrees of %s cannot be listed: %s", repository.path, trouble)
        return await self._with_sessions(repository, await self.checked(repository), {})

    async def rows(self, repository: RepositoryRow) -> Sequence[WorktreeRow]:
        """Return the rows as of the last check; missing ones are omitted."""
        rows = await self._context.store.worktrees(repository.id)
        return [row for row in rows if row.state is not WorktreeState.STALE]

    async def missing(self, repository: RepositoryRow, rows: Sequence[WorktreeRow]) -> list[WorktreeRow]:
        """Return the rows without a worktree at their path; none if the disk does not answer."""
        work = partial(all_there, [row.path for row in rows])
        try:
            there = await self._context.sessions.file_io.run(repository.common_dir, work)
        except (FilesystemTimeout, OSError) as trouble:
            logger.warning("the worktrees of %s cannot be read: %s", repository.path, trouble)
            return []
        return [row for row in rows if row.path not in there]

    async def checked(self, repository: RepositoryRow) -> Sequence[WorktreeRow]:
        """Return its rows after a check of the files only: those whose directory is missing are stale.

        A missing repository without a saved worktree is forgotten.
        """
        async with self._rows.turn(repository.id):
            rows = await self._context.store.worktrees(repository.id)
            missing = {row.id for row in await self.missing(repository, rows)}
            after = [made_stale(row) if row.id in missing else row for row in rows]
            await self._save(after, rows)
            if not rows and await self.repositories.is_gone(repository):
                await self._context.store.forget_repository(repository.id)
                logger.info("a repository is no longer known", extra={"repository": repository.path})
            return after

    async def _look(self, repository: RepositoryRow, listed: Sequence[ListedWorktree]) -> RepositoryScan:
        """Return the directories at the paths that git lists; without an answer from the disk, git's list is used."""
        work = partial(directory_states, repository.common_dir, repository.path, listed)
        try:
            return await self._context.sessions.file_io.run(repository.common_dir, work)
        except (FilesystemTimeout, OSError):
            return directory_states("", "", listed)

    async def _brought_up_to_date(self, repository: RepositoryRow, look: RepositoryScan) -> Sequence[WorktreeRow]:
        rows = await self._context.store.worktrees(repository.id)
        after, adopted = reconciled_rows(repository, rows, look, now_ns())
        await self._save([*after, *adopted], rows)
        return [*after, *adopted]

    async def _with_sessions(
        self, repository: RepositoryRow, rows: Sequence[WorktreeRow], named: Mapping[str, ListedWorktree]
    ) -> list[SeenWorktree]:
        sessions = await self._context.store.sessions_of([row.id for row in rows])
        now = next((row for row in await self._context.store.repositories() if row.id == repository.id), repository)
        return [
            SeenWorktree(now, row, named.get(row.path), sessions.get(row.id, NO_SESSIONS))
            for row in sorted(rows, key=lambda row: (row.origin is not WorktreeOrigin.MAIN, row.created_ns, row.id))
        ]

    async def _save(self, rows: Sequence[WorktreeRow], before: Sequence[WorktreeRow]) -> None:
        known = {row.id: row for row in before}
        changed = [row for row in rows if known.get(row.id) != row]
        if changed:
            # A path that git lists here belongs to no other repository, whatever its row contains.
            for path in await self._context.store.save_seen(changed):
                logger.warning(
                    "a worktree is missing: another one is at its path; its row is kept", extra={"path": path}
                )
        for row in changed:
            was = known.get(row.id)
            if was is None:
                logger.info("a worktree was registered", extra={"worktree": row.name, "path": row.path})
            elif row.state is WorktreeState.STALE is not was.state:
                logger.warning("a worktree is missing; its row is kept", extra={"worktree": row.name, "path": row.path})
            elif row.path != was.path:
                logger.info("a worktree was moved", extra={"worktree": row.name, "path": row.path})
