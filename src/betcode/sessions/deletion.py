"""Deletes a session: first it is hidden, then its files, its rows and its words in the search index are erased.

A deletion that began always ends: a caller may leave, the disk may be full, the daemon may be killed. What could not be
erased is tried again every minute and at the next start.
"""

import logging

import anyio
import anyio.to_thread

from betcode.domain.errors import AgentUnavailable, BetcodeError, StorageDegraded
from betcode.domain.session_deletion import DeletedSession
from betcode.sessions import session_files
from betcode.sessions.closing import close
from betcode.sessions.live import LiveSession
from betcode.sessions.registry import Registry
from betcode.sessions.room import Room

logger = logging.getLogger(__name__)

_RETRY_AFTER_S = 60.0


async def delete(registry: Registry, session: LiveSession) -> None:
    """Close the session and erase everything that this daemon stored of it.

    Raises:
        AgentUnavailable: its agent could not be ended, and still needs its rows.
        StorageDegraded: it could not be marked as deleted; or it is, but some of its data could not be erased yet.
    """
    await close(session, to_delete=True)
    if session.run is not None:
        raise AgentUnavailable("The session is closed, but its agent cannot be ended: delete it later")
    attempt = _Attempt()
    # Not in the caller's task: whoever asked may leave at any moment.
    session.room.tasks.start_soon(_mark_and_erase, registry, session, attempt)
    await attempt.ended.wait()
    if attempt.failure is not None:
        raise attempt.failure


def continue_deletions(room: Room) -> None:
    """Erase what an earlier daemon had marked as deleted and not erased."""
    for deleted in room.store.half_deleted:
        room.tasks.start_soon(_erase_until_done, room, deleted, _Attempt())


class _Attempt:
    """The first attempt at a deletion: when it has ended, and why it failed."""

    def __init__(self) -> None:
        self.ended = anyio.Event()
        self.failure: BetcodeError | None = None

    def fail(self, failure: BetcodeError) -> None:
        if not self.ended.is_set():
            self.failure = failure
            self.ended.set()


async def _mark_and_erase(registry: Registry, session: LiveSession, attempt: _Attempt) -> None:
    room = registry.room
    try:
        deleted = await room.store.mark_deleted(session.writer.key)
    except BetcodeError as error:
        attempt.fail(error)
        return
    registry.live.pop(session.session_id, None)
    room.faults("delete-marked")
    if session.writer.telling is not None:
        await session.writer.telling.deleted()
    await _erase_until_done(room, deleted, attempt)


async def _erase_until_done(room: Room, deleted: DeletedSession, attempt: _Attempt) -> None:
    extra = {"session_id": deleted.session_id}
    while True:
        try:
            await anyio.to_thread.run_sync(session_files.remove, room.runs_dir, deleted)
            room.faults("delete-files-removed")
            await room.store.erase_session(deleted.key)
        except (OSError, BetcodeError) as error:
            logger.warning("a deleted session could not be erased yet: %s", error, extra=extra)
            attempt.fail(_still_there(str(error)))
        else:
            break
        await anyio.sleep(_RETRY_AFTER_S)
    logger.info("the session was deleted and erased", extra=extra)
    attempt.ended.set()


def _still_there(reason: str) -> StorageDegraded:
    return StorageDegraded(
        f"The session is deleted for every client, but some of its data is still on the disk: {reason}. "
        "The daemon tries to erase it again every minute and at its next start",
        reason=reason,
    )
