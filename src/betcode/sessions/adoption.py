"""At start: take over agents that are alive, read what the others left, and end what belongs to nobody."""

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import anyio
import anyio.to_thread

from betcode.domain.identifiers import RunId, SessionId
from betcode.domain.ports import SessionFilter
from betcode.domain.session import SessionStatus
from betcode.holder.launch import end_leftovers, is_alive
from betcode.sessions.live import LiveSession
from betcode.sessions.room import Room
from betcode.sessions.run import AgentRun

logger = logging.getLogger(__name__)

ATTACH_WITHIN_S = 10.0
_ALL = 1_000_000


@dataclass(frozen=True, slots=True)
class Found:
    adopted: int = 0  # agents that were alive
    ended: int = 0  # agents that had ended meanwhile
    orphans: int = 0  # agents without a row, ended now
    waiting: int = 0  # sessions with accepted messages and no agent


async def take_up(room: Room, open_session: Callable[[SessionId], Awaitable[LiveSession]]) -> Found:
    """No process without a row, and no running row without a process."""
    runs: list[AgentRun] = []
    adopted = ended = 0
    known: set[str] = set()
    for session_id, row in await room.store.live_runs():
        live = await open_session(session_id)
        run = live.run = AgentRun(live, row)
        known.add(row.run_id)
        alive = is_alive(run.directory)
        adopted += alive
        ended += not alive
        room.tasks.start_soon(run.adopt)
        if live.writer.state.status is SessionStatus.CLOSED:
            room.tasks.start_soon(live.wind_up, anyio.Event())  # a daemon died in the middle of it
        runs.append(run)
    orphans = await _end_orphans(room, known)
    with anyio.move_on_after(ATTACH_WITHIN_S):
        for run in runs:
            await run.attached.wait()
    waiting = await _go_on_with_the_rest(room, open_session)
    found = Found(adopted, ended, orphans, waiting)
    logger.info(
        "found %d agents at work, %d that had ended, %d without a row, %d sessions with messages to deliver",
        found.adopted,
        found.ended,
        found.orphans,
        found.waiting,
    )
    return found


async def _end_orphans(room: Room, known: set[str]) -> int:
    ended = 0
    for directory in room.runs_dir.iterdir():
        if directory.name not in known and directory.is_dir() and is_alive(directory):
            logger.warning("ending an agent that no session knows: run %s", directory.name)
            await anyio.to_thread.run_sync(end_leftovers, RunId(directory.name), 0, 0)
            ended += 1
    return ended


async def _go_on_with_the_rest(room: Room, open_session: Callable[[SessionId], Awaitable[LiveSession]]) -> int:
    """Sessions that were in a turn: those without an agent have messages that nobody has delivered."""
    rows, _ = await room.store.list_sessions(SessionFilter(statuses=(SessionStatus.ACTIVE,), limit=_ALL))
    waiting = 0
    for row in rows:
        live = await open_session(row.new.session_id)
        if live.run is None:
            waiting += 1
            await live.take_up_turn()
    return waiting
