"""The known repositories, tracked also when they are moved."""

import logging
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import anyio

from betcode.domain.bounded_io import FilesystemTimeout
from betcode.domain.errors import GitFailed, InvalidRequest, RepositoryNotFound
from betcode.domain.repositories.worktrees import RepositoryId, RepositoryRow, new_repository_id
from betcode.git.repository import listed_worktrees, locate
from betcode.git.worktree_files import configured_top, mark_of, on_disk
from betcode.util import wall_clock
from betcode.worktrees.context import WorktreeContext
from betcode.worktrees.path_checks import directory_state, row_at

logger = logging.getLogger(__name__)


class Repositories:
    def __init__(self, context: WorktreeContext) -> None:
        self._context = context
        self._registering = anyio.Lock()  # of two concurrent callers the second finds the row of the first

    async def get(self, repository: RepositoryId) -> RepositoryRow:
        """Raises RepositoryNotFound."""
        for row in await self._context.store.repositories():
            if row.id == repository:
                return row
        raise RepositoryNotFound("The repository is no longer known")

    async def of(self, directory: str) -> RepositoryRow:
        """Return the repository that a directory belongs to; an unknown one is registered.

        Raises:
            InvalidRequest, RepositoryNotFound, GitFailed
        """
        if not Path(directory).is_absolute() or "\0" in directory:
            raise InvalidRequest(f"{directory[:200]!r} is not an absolute path: give one that begins with /")
        file_io = self._context.sessions.file_io
        try:
            if not await file_io.run(directory, Path(directory).is_dir):
                raise RepositoryNotFound(f"{directory[:500]} is not a directory: give a directory of a git repository")
            spot = await file_io.run(directory, partial(directory_state, directory))
            known = row_at(await self._context.store.worktrees(), spot)
            if known is not None:
                return await self.get(known.repository)
            place = await locate(self._context.git, directory)
            is_main = bool(place.top) and (await file_io.run(place.top, partial(on_disk, place.top))).git_dir == (
                place.common_dir
            )
            async with self._registering:
                return await self._known(place.common_dir, place.top if is_main else "")
        except (FilesystemTimeout, OSError) as trouble:
            raise GitFailed(f"{directory[:500]} cannot be read: {trouble}") from None

    async def is_gone(self, repository: RepositoryRow) -> bool:
        """Return whether its git directory is missing; False if the disk does not answer."""
        path = repository.common_dir
        try:
            return not await self._context.sessions.file_io.run(path, Path(path).exists)
        except (FilesystemTimeout, OSError):
            return False

    async def _known(self, common_dir: str, main_top: str) -> RepositoryRow:
        known = await self._context.store.repositories()
        found = next((row for row in known if row.common_dir == common_dir), None)
        if found is None:
            return await self._register(common_dir, main_top, known)
        look = self._context.sessions.file_io.run
        now = replace(found, mark=await look(common_dir, partial(mark_of, common_dir)))
        if main_top and (await look(found.path, partial(on_disk, found.path))).git_dir != common_dir:
            now = replace(now, path=main_top)  # the git directory is where it was, and the main worktree is not
        if now != found:
            await self._context.store.save_repository(now)
        return now

    async def _register(self, common_dir: str, main_top: str, known: Sequence[RepositoryRow]) -> RepositoryRow:
        """Return a row for it: that of a repository that was moved, or a new one."""
        main = (await listed_worktrees(self._context.git, common_dir))[0]
        path = main.path if main.is_bare else await self._main_path(common_dir, main.path, main_top)
        mark = await self._context.sessions.file_io.run(common_dir, partial(mark_of, common_dir))
        for row in known:
            if mark and row.mark == mark and await self.is_gone(row):
                moved = replace(row, common_dir=common_dir, path=path, is_bare=main.is_bare)
                await self._context.store.save_repository(moved)
                logger.info("a repository was moved", extra={"repository": path, "was_at": row.path})
                return moved
        now_ns = wall_clock.now_ns()
        row = RepositoryRow(new_repository_id(), common_dir, path, main.is_bare, now_ns, now_ns, mark=mark)
        await self._context.store.save_repository(row)
        logger.info("a repository was registered", extra={"repository": row.path})
        return row

    async def _main_path(self, common_dir: str, listed: str, claimed: str) -> str:
        """Return the path of the main worktree: one on which git and the files agree, before one that only a `.git`
        file claims.
        """
        if (await self._context.sessions.file_io.run(listed, partial(on_disk, listed))).git_dir == common_dir:
            return listed
        return await configured_top(self._context.git, common_dir) or claimed or listed
