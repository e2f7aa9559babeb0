"""Determines the worktree of a session, and its directory when the agent starts."""

import logging
import os
from dataclasses import replace
from functools import partial
from pathlib import Path

import anyio

from betcode.domain.bounded_io import FilesystemTimeout
from betcode.domain.errors import BetcodeError, InvalidRequest, WorktreeUnusable
from betcode.domain.repositories.worktrees import WorktreeId, WorktreeOrigin, WorktreeRow, WorktreeState
from betcode.domain.store.rows import NewSession
from betcode.git.worktree_files import on_disk
from betcode.worktrees.catalog.problems import why_unusable
from betcode.worktrees.catalog.registry import WorktreeRegistry
from betcode.worktrees.context import WorktreeContext
from betcode.worktrees.path_checks import DirectoryState, directory_state, is_same, row_at

logger = logging.getLogger(__name__)

_GIT_WITHIN_S = 5.0  # a session does not wait longer for an optional check


class SessionWorktrees:
    """Behind `betcode.domain.repositories.worktrees.WorktreePlaces`."""

    def __init__(self, context: WorktreeContext, registry: WorktreeRegistry) -> None:
        self._context = context
        self._registry = registry

    async def placed(self, new: NewSession, *, in_active: bool) -> NewSession:
        """Return the session in its worktree, if it has one.

        Files and rows name the worktree; git is asked once if they do not. An error there does not prevent the session,
        which then belongs to no worktree.

        Raises:
            WorktreeNotFound, WorktreeUnusable, InvalidRequest: it names a worktree that it cannot use.
        """
        if new.worktree_id:
            return await self._in_named(new)
        if not Path(new.working_directory).is_absolute() or "\0" in new.working_directory:
            return new  # it is refused where all directories are checked
        try:
            spot = await self._context.sessions.file_io.run(
                new.working_directory, partial(directory_state, new.working_directory)
            )
            row = await self._row_at(spot)
        except (BetcodeError, FilesystemTimeout, OSError) as trouble:
            logger.info("a session belongs to no worktree", extra={"path": new.working_directory, "why": str(trouble)})
            return new
        if row is None:
            return new
        new = replace(new, worktree_id=row.id, subdirectory=_below(spot.directory, row.path))
        return await self._in_active(new, row) if in_active and row.origin is WorktreeOrigin.MAIN else new

    async def directory_of(self, new: NewSession) -> str:
        """Return where the agent of a session with a worktree is to be started now.

        Raises:
            WorktreeUnusable: the worktree is missing.
        """
        row = await self._context.store.worktree(WorktreeId(new.worktree_id))
        if row is None:  # it was forgotten
            if await self._is_directory(new.working_directory):
                return new.working_directory
            raise WorktreeUnusable(
                f"The worktree of this session is no longer known, and {new.working_directory} is missing: "
                "start a new session elsewhere",
                worktree_id=new.worktree_id,
            )
        row = await self._usable(row)
        return str(Path(row.path) / new.subdirectory)

    async def _in_named(self, new: NewSession) -> NewSession:
        row = await self._usable(await self._registry.find(new.worktree_id))
        if not new.working_directory:
            return replace(new, worktree_id=row.id, working_directory=row.path)
        asked = new.working_directory
        try:
            directory = await self._context.sessions.file_io.run(asked, partial(os.path.realpath, asked))
        except FilesystemTimeout as no_answer:
            raise InvalidRequest(f"The session cannot be made in {asked[:500]}: {no_answer}") from None
        inside = Path(directory).is_relative_to(row.path)
        if not inside or await self._nearest(row, directory) != row.id:
            raise InvalidRequest(f"{asked[:500]} is not in the worktree {row.name}: name a directory in {row.path}")
        subdirectory = _below(directory, row.path)
        return replace(new, worktree_id=row.id, working_directory=directory, subdirectory=subdirectory)

    async def _nearest(self, row: WorktreeRow, directory: str) -> WorktreeId:
        """Of the worktrees of its repository the innermost that the directory is in."""
        others = await self._context.store.worktrees(row.repository)
        around = [
            each
            for each in others
            if each.state is not WorktreeState.STALE and Path(directory).is_relative_to(each.path)
        ]
        return max(around, key=lambda each: len(each.path), default=row).id

    async def _in_active(self, new: NewSession, main: WorktreeRow) -> NewSession:
        """Return the session moved to the same directory of the active worktree, or unchanged if there is none."""
        repository = await self._registry.repositories.get(main.repository)
        active = repository.active_worktree
        row = await self._context.store.worktree(WorktreeId(active)) if active and active != main.id else None
        if row is None:
            return new
        try:
            row = await self._usable(row)
        except WorktreeUnusable as trouble:
            logger.info("a session is not made in the active worktree", extra={"why": trouble.message})
            return new
        same = str(Path(row.path) / new.subdirectory)
        if not await self._is_directory(same):
            return replace(new, worktree_id=row.id, working_directory=row.path, subdirectory="")
        return replace(new, worktree_id=row.id, working_directory=same)

    async def _usable(self, row: WorktreeRow) -> WorktreeRow:
        """Return the row of a usable worktree, also after it was moved; git is asked only if files do not suffice.

        Raises:
            WorktreeUnusable
        """
        if row.state in (WorktreeState.CREATING, WorktreeState.REMOVING):
            raise WorktreeUnusable(why_unusable(row), worktree_id=row.id)
        try:
            found = await self._context.sessions.file_io.run(row.path, partial(on_disk, row.path))
        except (FilesystemTimeout, OSError):
            return row  # starting something there reports the error
        if found.git_dir and is_same(row, found) and row.state is WorktreeState.READY:
            return row
        seen = None
        with anyio.move_on_after(_GIT_WITHIN_S):
            every = await self._registry.seen_if_possible(await self._registry.repositories.get(row.repository))
            seen = next((each.row for each in every if each.row.id == row.id), None)
        if seen is None or seen.state is not WorktreeState.READY:
            raise WorktreeUnusable(why_unusable(seen or row), worktree_id=row.id)
        return seen

    async def _row_at(self, spot: DirectoryState) -> WorktreeRow | None:
        """Raises BetcodeError, FilesystemTimeout."""
        if not spot.top:
            return None
        known = row_at(await self._context.store.worktrees(), spot)
        if known is not None:
            return known
        with anyio.move_on_after(_GIT_WITHIN_S):
            every = await self._registry.seen(await self._registry.repositories.of(spot.top))
            return next((each.row for each in every if each.row.path == spot.top), None)
        raise FilesystemTimeout(f"git did not answer within {_GIT_WITHIN_S:g} s")

    async def _is_directory(self, path: str) -> bool:
        try:
            return await self._context.sessions.file_io.run(path, Path(path).is_dir)
        except (FilesystemTimeout, OSError):
            return False


def _below(directory: str, top: str) -> str:
    relative = os.path.relpath(directory, top)
    return "" if relative == "." else relative
