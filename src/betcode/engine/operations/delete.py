"""Deletes a session: first it is hidden, then its files, its rows and its words in the search index are erased.

A deletion that began always ends: a caller may leave, the disk may be full, the daemon may be killed. What could not be
erased is tried again every minute and at the next start. A session that cannot be opened or closed is deleted, too.
"""

import logging

import anyio
import anyio.to_thread

from betcode.domain.errors import AgentUnavailable, BetcodeError, SessionNotFound, StorageDegraded, UnknownProvider
from betcode.domain.runs.state import LIVE
from betcode.domain.sessions.deletion import DeletedSession
from betcode.domain.values.identifiers import SessionId, SessionKey
from betcode.engine.agents.run_processes import end_run
from betcode.engine.context import EngineContext
from betcode.engine.fault_points import FaultPoint
from betcode.engine.operations import session_files
from betcode.engine.operations.close import close
from betcode.engine.registry import Registry
from betcode.engine.shell.session import LiveSession
from betcode.engine.shell.session_failure import describe

logger = logging.getLogger(__name__)

_RETRY_AFTER_S = 60.0


async def delete(registry: Registry, session: SessionId, client: str = "") -> None:
    """Close the session and erase everything that this daemon stored of it.

    Raises:
        SessionNotFound
        AgentUnavailable: its agent could not be ended, and still needs its rows.
        StorageDegraded: it could not be marked as deleted; or it is, but some of its data could not be erased yet.
    """
    try:
        async with registry.using(session) as live:
            live.note_stop_request(client)
            await close(live, to_delete=True)
            if live.run is not None:
                raise AgentUnavailable("The session is closed, but its agent cannot be ended: delete it later")
            await _erase(registry, live.writer.key, live)
    except UnknownProvider:
        await _delete_unusable(registry, session)
    except (SessionNotFound, StorageDegraded, AgentUnavailable):
        raise
    except Exception:
        logger.exception("the session cannot be closed and is deleted anyway", extra={"session_id": session})
        await _delete_unusable(registry, session)


async def _delete_unusable(registry: Registry, session: SessionId) -> None:
    """Delete a session that cannot be opened or closed: end the processes of its newest run, then erase its rows."""
    row = await registry.row(session)
    live = registry.live.pop(session, None)
    if live is not None:
        live.tasks.cancel()
        registry.context.slots.give_back(live)
    run = await registry.context.store.newest_run(row.key)
    if run is not None and run.state in LIVE:
        await end_run(registry.context.runs_dir, run)
    await _erase(registry, row.key, live)
    if live is not None:
        live.writer.tail.close()


async def _erase(registry: Registry, key: SessionKey, live: LiveSession | None) -> None:
    attempt = _Attempt()
    # Not in the caller's task: whoever asked may leave at any moment.
    registry.context.tasks.start_soon(_mark_and_erase, registry, key, live, attempt)
    await attempt.ended.wait()
    if attempt.failure is not None:
        raise attempt.failure


def continue_deletions(context: EngineContext) -> None:
    """Erase what an earlier daemon had marked as deleted and not erased."""
    for deleted in context.store.half_deleted:
        context.tasks.start_soon(_erase_until_done, context, deleted, _Attempt())


class _Attempt:
    """The first attempt at a deletion: when it has ended, and why it failed."""

    def __init__(self) -> None:
        self.ended = anyio.Event()
        self.failure: BetcodeError | None = None

    def fail(self, failure: BetcodeError) -> None:
        if not self.ended.is_set():
            self.failure = failure
            self.ended.set()


async def _mark_and_erase(registry: Registry, key: SessionKey, live: LiveSession | None, attempt: _Attempt) -> None:
    context = registry.context
    try:
        deleted = await context.store.mark_deleted(key)
        registry.live.pop(deleted.session_id, None)
        context.faults(FaultPoint.DELETE_MARKED, deleted.session_id)
        if live is not None and live.writer.telling is not None:
            await live.writer.telling.deleted()
    except BetcodeError as error:
        attempt.fail(error)
        return
    except Exception as error:
        logger.exception("a session could not be deleted")
        attempt.fail(_still_there(describe(error)))
        return
    await _erase_until_done(context, deleted, attempt)


async def _erase_until_done(context: EngineContext, deleted: DeletedSession, attempt: _Attempt) -> None:
    extra = {"session_id": deleted.session_id}
    while True:
        try:
            await anyio.to_thread.run_sync(session_files.remove, context.runs_dir, deleted)
            context.faults(FaultPoint.DELETE_FILES_REMOVED, deleted.session_id)
            await context.store.erase_session(deleted.key)
        except (OSError, BetcodeError) as error:
            logger.warning("a deleted session could not be erased yet: %s", error, extra=extra)
            attempt.fail(_still_there(str(error)))
        except Exception as error:  # it concerns this session alone
            logger.exception("a deleted session could not be erased yet", extra=extra)
            attempt.fail(_still_there(describe(error)))
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
