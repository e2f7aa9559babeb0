"""Imports turns that were made with the agent's own program while no agent of the session was running."""

from __future__ import annotations

import logging
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from betcode.domain.bounded_io import FilesystemTimeout
from betcode.domain.errors import SessionFailed, StorageDegraded, StorageFailed
from betcode.domain.runs.state import LIVE
from betcode.domain.sessions.outside_turns import OUTSIDE, FindsOutsideTurns, LastRun, OutsideTurn
from betcode.domain.store.changes import SaveRun
from betcode.engine.core import events
from betcode.engine.core.decision import Decision
from betcode.v1 import agent_pb2 as v1

if TYPE_CHECKING:
    from betcode.domain.store.rows import RunRow
    from betcode.engine.shell.session import LiveSession

logger = logging.getLogger(__name__)


async def import_outside_turns(session: LiveSession) -> None:
    """Add them to the history with a notice, once. What prevents that is logged, and the next call tries again."""
    if not _is_idle(session) or not isinstance(session.provider, FindsOutsideTurns):
        return
    try:
        await _import(session, session.provider)
    except (FilesystemTimeout, OSError) as trouble:
        logger.warning("the agent's transcript could not be read: %s", trouble, extra=session.log_extra)
    except (SessionFailed, StorageDegraded, StorageFailed) as trouble:
        logger.warning("turns made outside could not be imported: %s", trouble, extra=session.log_extra)


async def _import(session: LiveSession, provider: FindsOutsideTurns) -> None:
    context, writer = session.context, session.writer
    last = await context.store.newest_run(writer.key)
    if last is None or not _has_ended(last):
        return
    environment = writer.new.environment
    if environment is None:
        environment = await context.login_shell.environment()
    look = partial(
        provider.outside_turns,
        writer.new,
        writer.state.conversation_id or writer.new.session_id,
        environment,
        LastRun(last.started_ns, last.ended_ns, last.dialogue_state, last.dialogue_version),
    )
    found = await context.file_io.run(f"transcripts of {session.provider.name}", look)
    if found is None:
        return
    async with session.changing():
        if not _is_idle(session) or await context.store.newest_run(writer.key) != last:
            return  # somebody was faster
        turns = [turn for turn in found.turns if not await _is_ours(session, turn)]
        said = [event for turn in turns for event in turn.events]
        if said:
            words = notice_words(len(turns), found.omitted, found.program)
            said.insert(0, events.notice(v1.NOTICE_KIND_AGENT, words, event=OUTSIDE, turns=str(len(turns))))
        row = replace(last, dialogue_state=found.state, dialogue_version=session.provider.dialogue_version)
        await session.perform_locked(Decision(tuple(said), (SaveRun(row),)))


def notice_words(imported: int, omitted: int, program: str) -> str:
    count = imported + omitted
    were = "1 turn was" if count == 1 else f"{count} turns were"
    made = f"{were} made outside betcode (`{program}`)"
    if omitted:
        return f"{made}. The newest {imported} follow; {omitted} are not in this history"
    return f"{made} and {'follows' if count == 1 else 'follow'} here"


def _is_idle(session: LiveSession) -> bool:
    """No agent runs, none is about to, and there is a conversation to look for."""
    return (
        session.run is None
        and session.at_rest
        and not session.is_closed
        and not session.inputs
        and session.writer.state.conversation_began
    )


def _has_ended(run: RunRow) -> bool:
    return run.state not in LIVE and run.ended_ns > 0


async def _is_ours(session: LiveSession, turn: OutsideTurn) -> bool:
    return await session.context.store.find_input(session.writer.key, turn.message_id) is not None
