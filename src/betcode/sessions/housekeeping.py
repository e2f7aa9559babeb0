"""What is done again and again while a daemon runs: idle agents, forgotten sessions, a full disk, old journals."""

import logging
from functools import partial

import anyio
import anyio.to_thread

from betcode.sessions.compaction_triggers import MemoryPressure
from betcode.sessions.registry import Registry
from betcode.sessions.retention import Swept, is_full, sweep
from betcode.sessions.room import Room

logger = logging.getLogger(__name__)

LOOK_EVERY_S = 1.0
SWEEP_EVERY_S = 600.0
SEND_HOME_WITHIN_S = 3.0


async def keep_house(registry: Registry) -> None:
    """Retire agents that were idle too long or are too many, end those that hang, forget sessions that are at rest."""
    room = registry.room
    pressure = MemoryPressure()
    while True:
        idle_s, hang_s = room.settings.idle_retire_s, room.settings.hang_after_s
        await anyio.sleep(min(LOOK_EVERY_S, max(idle_s / 4, 0.05), max(hang_s / 4, 0.05)))
        for agent in room.memory.idle_too_long(anyio.current_time() - idle_s, keep=room.settings.warm_limit):
            room.tasks.start_soon(agent.retire)
        pressure.relieve(registry)
        full = is_full(room.runs_dir)
        for live in registry.live.values():
            live.writer.note_disk(full=full)
            if live.run is not None:
                live.run.watch.look()
                live.run.calls.look()
        registry.forget_disposable()


async def send_idle_home(room: Room) -> None:
    """Before a clean stop: agents at work go on in their holders, but nobody would retire the idle ones."""
    with anyio.move_on_after(SEND_HOME_WITHIN_S):
        async with anyio.create_task_group() as tasks:
            for agent in room.memory.live:
                if agent.idle_since is not None:
                    tasks.start_soon(agent.retire)


async def keep_journals(room: Room) -> None:
    """Compress journals that were read, and drop those of ended agents that are old or too many."""
    while True:
        settings = room.settings
        work = partial(
            sweep,
            room.runs_dir,
            {agent.run_id: agent.offset for agent in room.memory.live},
            keep_s=settings.journal_keep_s,
            keep_bytes=settings.journal_limit_bytes,
        )
        swept = await anyio.to_thread.run_sync(work)
        if swept != Swept():
            logger.info("compressed %d pieces of journals, dropped %d old runs", swept.compressed, swept.removed)
        await anyio.sleep(SWEEP_EVERY_S)
