"""Periodic maintenance: retire idle agents, close unused sessions, check the disk, apply retention."""

import logging
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial

import anyio
import anyio.to_thread

from betcode.domain.bounded_io import FilesystemTimeout
from betcode.domain.errors import BetcodeError, SessionNotFound, StorageDegraded, StorageFailed
from betcode.domain.values.identifiers import SessionId
from betcode.engine.context import EngineContext
from betcode.engine.fault_points import FaultPoint
from betcode.engine.maintenance.journal_retention import SweepResult, is_full, sweep
from betcode.engine.registry import Registry
from betcode.engine.shell.compaction_triggers import MemoryWatch
from betcode.telemetry.log_context import begin
from betcode.util import wall_clock

logger = logging.getLogger(__name__)

LOOK_EVERY_S = 1.0
SWEEP_EVERY_S = 600.0
SEND_HOME_WITHIN_S = 3.0
MEASURE_EVERY_S = 5.0
FORGET_EVERY_S = 600.0
_LEAP_NS = 3600 * 10**9
_FORGET_AT_ONCE = 100


async def run_maintenance(registry: Registry) -> None:
    """Retire agents that were idle too long or are too many, end those that hang, forget sessions that are at rest."""
    begin("housekeeping")
    context = registry.context
    memory = MemoryWatch()
    while True:
        idle_s, hang_s = context.settings.idle_retire_s, context.settings.hang_after_s
        await anyio.sleep(min(LOOK_EVERY_S, max(idle_s / 4, 0.05), max(hang_s / 4, 0.05)))
        for agent in context.memory.idle_too_long(anyio.current_time() - idle_s, keep=context.settings.warm_limit):
            agent.retire_soon()
        memory.relieve(registry)
        full = await _is_full(context)
        for live in list(registry.live.values()):
            with live.failure.guard(FaultPoint.MAINTENANCE):
                context.faults(FaultPoint.MAINTENANCE, live.session_id)
                live.writer.note_disk(full=full)
                if live.run is not None:
                    live.run.watch.look()
                    live.run.calls.look()
        registry.forget_disposable()


async def _is_full(context: EngineContext) -> bool:
    """A disk that gives no answer is not known to be full."""
    try:
        return await context.file_io.run(str(context.runs_dir), partial(is_full, context.runs_dir))
    except FilesystemTimeout:
        return False


async def retire_idle_agents(context: EngineContext) -> None:
    """Before a clean stop: agents at work go on in their holders, but nobody would retire the idle ones."""
    with anyio.move_on_after(SEND_HOME_WITHIN_S):
        async with anyio.create_task_group() as tasks:
            for agent in context.memory.live:
                if agent.idle_since is not None:
                    tasks.start_soon(agent.retire)


async def run_journal_retention(context: EngineContext) -> None:
    """Compress journals that were read, and drop those of ended agents that are old or too many."""
    begin("housekeeping")
    while True:
        settings = context.settings
        work = partial(
            sweep,
            context.runs_dir,
            {agent.run_id: agent.offset for agent in context.memory.live},
            keep_s=settings.journal_keep_s,
            keep_bytes=settings.journal_limit_bytes,
        )
        swept = await anyio.to_thread.run_sync(work)
        if swept != SweepResult():
            logger.info("compressed %d pieces of journals, dropped %d old runs", swept.compressed, swept.removed)
        await anyio.sleep(SWEEP_EVERY_S)


async def run_database_quota(context: EngineContext) -> None:
    """Measure how much the database holds, and warn before the limit is reached."""
    while True:
        with suppress(BetcodeError):  # who reads or writes meanwhile says what is wrong
            context.database.note(await context.store.used_bytes(), context.settings.database_limit_bytes)
        await anyio.sleep(MEASURE_EVERY_S)


async def run_history_retention(context: EngineContext, delete: Callable[[SessionId], Awaitable[bool]]) -> None:
    """Delete closed sessions that are older than the settings want them kept; by default none is."""
    clock = ClockJumps()
    while True:
        now_ns = wall_clock.now_ns()
        if clock.leapt(now_ns, time.monotonic_ns()):
            logger.info("the clock jumped forward; the search for old sessions is postponed")
        elif keep_s := context.settings.history_keep_s:
            await delete_old_sessions(context, delete, now_ns - int(keep_s * 1e9))
        await anyio.sleep(FORGET_EVERY_S)


class ClockJumps:
    """Whether the clock went ahead of time itself: it was set, perhaps by mistake, and what is deleted stays so."""

    def __init__(self) -> None:
        self._ahead_ns: int | None = None

    def leapt(self, now_ns: int, monotonic_ns: int) -> bool:
        """Since the last time this was asked."""
        before_ns, self._ahead_ns = self._ahead_ns, now_ns - monotonic_ns
        return before_ns is not None and self._ahead_ns - before_ns > _LEAP_NS


async def delete_old_sessions(
    context: EngineContext, delete: Callable[[SessionId], Awaitable[bool]], before_ns: int
) -> None:
    """A full disk or a session in use is met again at the next round; a session that stays keeps no other."""
    try:
        for session in await context.store.closed_before(before_ns, _FORGET_AT_ONCE):
            await _forget(session, delete)
    except (StorageDegraded, StorageFailed) as trouble:
        logger.warning("old sessions could not be deleted: %s", trouble)


async def _forget(session: SessionId, delete: Callable[[SessionId], Awaitable[bool]]) -> None:
    extra = {"session_id": session}
    try:
        await delete(session)
    except (StorageDegraded, StorageFailed):
        raise
    except SessionNotFound:
        return  # somebody was quicker
    except BetcodeError as trouble:
        logger.warning("an old session could not be deleted: %s", trouble, extra=extra)
    else:
        logger.info("a closed session was older than sessions.history_keep", extra=extra)
