"""Deletes removed worktrees from the trash when their retention time is over."""

import logging
import time

import anyio
import anyio.to_thread

from betcode.domain.errors import BetcodeError
from betcode.domain.repositories.worktrees import RepositoryRow
from betcode.util import wall_clock
from betcode.worktrees.context import WorktreeContext
from betcode.worktrees.remove.trash import Trash

logger = logging.getLogger(__name__)

_FIRST_AFTER_S = 60.0
_EVERY_S = 3600.0
_LEAP_NS = 3600 * 10**9


async def run_trash_expiry(context: WorktreeContext, trash: Trash) -> None:
    """Expire periodically. A clock that was set ahead, perhaps by mistake, deletes nothing at once."""
    ahead_ns = wall_clock.now_ns() - time.monotonic_ns()
    await anyio.sleep(_FIRST_AFTER_S)  # not during the start
    while True:
        before_ns, ahead_ns = ahead_ns, wall_clock.now_ns() - time.monotonic_ns()
        if ahead_ns - before_ns > _LEAP_NS:
            logger.info("the clock was set ahead: removed worktrees are checked in the next round")
        else:
            try:
                await expire(context, trash, wall_clock.now_ns())
            except Exception:
                # Tried again; nothing else is affected.
                logger.exception("removed worktrees could not be checked")
        await anyio.sleep(_EVERY_S)


async def expire(context: WorktreeContext, trash: Trash, now_ns: int) -> int:
    """Drop expired saved worktrees; return their number. Missing repositories are skipped."""
    before_ns = now_ns - trash.keep_ns
    dropped = 0
    for repository in await context.store.repositories():
        try:
            dropped += await _expire_in(repository, trash, before_ns)
        except BetcodeError as trouble:
            logger.info("the removed worktrees of %s cannot be read: %s", repository.path, trouble.message)
    await anyio.to_thread.run_sync(_expire_private, trash, before_ns)
    return dropped


async def _expire_in(repository: RepositoryRow, trash: Trash, before_ns: int) -> int:
    old = [each for each in await trash.removed_from(repository) if 0 < each.removed_ns < before_ns]
    for each in old:
        await trash.drop(repository, each.id, each.commit)
        logger.info("a removed worktree can no longer be restored", extra={"worktree": each.text("name")})
    return len(old)


def _expire_private(trash: Trash, before_ns: int) -> None:
    """Delete files of missing repositories by their own facts; without facts, by their age."""
    for identifier in trash.private_ids():
        kept = trash.privately(identifier)
        if (kept.removed_ns if kept else trash.changed_ns(identifier)) < before_ns:
            trash.drop_private(identifier)
