"""Automatic compaction: when the context exceeds its threshold, or the daemon is short of memory."""

from __future__ import annotations

import logging
import os
from dataclasses import replace
from typing import TYPE_CHECKING

from betcode.domain.errors import BetcodeError, SessionActive
from betcode.engine.core import compaction
from betcode.engine.fault_points import FaultPoint
from betcode.engine.operations.compact import compact
from betcode.engine.shell.views import session_view
from betcode.holder.platform import resident_bytes

if TYPE_CHECKING:
    from betcode.engine.registry import Registry
    from betcode.engine.shell.session import LiveSession

logger = logging.getLogger(__name__)


def after_turn(session: LiveSession) -> None:
    """A turn has ended: compact the session if its context exceeds the threshold."""
    settings = session.context.settings
    if not session.compacts_itself:
        return
    why = compaction.reason_after_turn(
        session_view(session), settings.auto_compact_threshold, is_allowed=settings.may_compact
    )
    if why:
        _begin(session, why)


class MemoryWatch:
    """Compacts a session when the daemon is short of memory."""

    def __init__(self) -> None:
        self._pressure = compaction.MemoryPressure()

    def relieve(self, registry: Registry) -> None:
        """Compact the longest idle session with a live agent, if the daemon is short of memory."""
        settings = registry.context.settings
        used, limit = resident_bytes(os.getpid()), settings.memory_limit_bytes
        self._pressure = compaction.pressure_after(self._pressure, used, limit)
        if not self._pressure.is_due:
            return
        idle_since = {
            live: live.run.idle_since
            for live in registry.live.values()
            if live.run is not None
            and live.run.idle_since is not None
            and compaction.may_begin(session_view(live), is_allowed=settings.may_compact)
        }
        if (chosen := compaction.longest_idle(idle_since)) is not None:
            self._pressure = replace(self._pressure, is_answered=True)
            _begin(chosen, compaction.memory_reason(used, limit))


def _begin(session: LiveSession, why: str) -> None:
    session.compacts_itself = False  # not a second time by the turn that ends with this one
    session.tasks.start_soon(FaultPoint.COMPACTION, _compact, session, why)


async def _compact(session: LiveSession, why: str) -> None:
    try:
        done = await compact(session, why=why)
    except SessionActive:
        session.compacts_itself = True  # a message came first; its turn ends too
    except BetcodeError as trouble:
        reason = trouble.details.get("reason", trouble.message)
        logger.warning("a session was not compacted: %s", reason, extra=session.log_extra)
    else:
        threshold = session.context.settings.auto_compact_threshold
        session.compacts_itself = not compaction.exceeds(session.writer.state, threshold)
        logger.info("compacted a session: %d tokens less (%s)", done.tokens_saved, why, extra=session.log_extra)
