"""Automatic compaction: when the context exceeds its threshold, or the daemon is short of memory."""

from __future__ import annotations

import logging
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from betcode.domain.errors import BetcodeError, SessionActive
from betcode.domain.metrics.health import HIGH_MEMORY_SHARE
from betcode.engine.fault_points import FaultPoint
from betcode.engine.operations.compact import compact, is_compact
from betcode.holder.platform import resident_bytes

if TYPE_CHECKING:
    from betcode.engine.registry import Registry
    from betcode.engine.shell.session import LiveSession

logger = logging.getLogger(__name__)

HIGH = HIGH_MEMORY_SHARE
LOW = 0.7  # below this the next time counts as another one


def after_turn(session: LiveSession) -> None:
    """A turn has ended: compact where its context has outgrown the threshold."""
    threshold = session.context.settings.auto_compact_threshold
    tokens = session.writer.state.context_tokens
    if threshold and tokens > threshold and session.at_rest and session.compacts_itself and _may(session):
        _begin(session, f"The context has {tokens:,} tokens, more than sessions.auto_compact_threshold")


@dataclass(slots=True)
class MemoryPressure:
    """One compaction each time that memory becomes short: it relieves the agent more than the daemon."""

    answered: bool = False

    def is_due(self, used_bytes: int, limit_bytes: int) -> bool:
        if used_bytes < LOW * limit_bytes:
            self.answered = False
        return not self.answered and used_bytes > HIGH * limit_bytes

    def relieve(self, registry: Registry) -> None:
        """Compact the longest idle session with a live agent, where the daemon is short of memory."""
        limit = registry.context.settings.memory_limit_bytes
        used = resident_bytes(os.getpid())
        if not self.is_due(used, limit):
            return
        idle = [
            (live.run.idle_since, number, live)
            for number, live in enumerate(registry.live.values())
            if live.run is not None and live.run.idle_since is not None and _may(live)
        ]
        if idle:
            self.answered = True
            mib = 1024 * 1024
            _begin(min(idle)[2], f"The daemon uses {used // mib} of the {limit // mib} MiB of daemon.memory_limit")


def _may(session: LiveSession) -> bool:
    if not session.context.settings.may_compact:
        return False
    if session.budget.holds:
        return False  # it has the model read the whole context, and a person has not allowed more
    return session.capabilities.compaction and not is_compact(session.writer.state)


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
        session.compacts_itself = not threshold or session.writer.state.context_tokens <= threshold
        logger.info("compacted a session: %d tokens less (%s)", done.tokens_saved, why, extra=session.log_extra)
