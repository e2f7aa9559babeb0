"""Report the turns of one session to a listener, based on committed events."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from betcode.domain.sessions.status import SessionStatus
from betcode.domain.sessions.turn_watch import TurnListener, WatchedSession
from betcode.domain.store.rows import SessionRow, SessionState, StoredEvent
from betcode.engine.core.counters import KIND_OF
from betcode.util.wall_clock import now_ns
from betcode.v1.agent_pb2 import AgentEvent

if TYPE_CHECKING:
    from betcode.engine.shell.writer import PreparedWrite

logger = logging.getLogger(__name__)

_TURN_COMPLETE = KIND_OF["turn_complete"]
_TOOL_START = KIND_OF["tool_call_start"]


class TurnObserver:
    """A turn is open while its session is active; its number is one more than have ended before it."""

    def __init__(self, watch: TurnListener, row: SessionRow) -> None:
        self._watch = watch
        new = row.new
        self._session = WatchedSession(row.key, new.session_id, new.working_directory, new.worktree_id)
        self._extra = {"session_id": new.session_id}
        self._has_used_tool = False  # in the open turn, as far as this daemon knows

    def written(self, before: SessionState, prepared: PreparedWrite) -> None:
        """Something of this session is on disk."""
        after, stored = prepared.state, prepared.stored
        was_open, is_open = before.status is SessionStatus.ACTIVE, after.status is SessionStatus.ACTIVE
        is_over = after.turns > before.turns
        if was_open is is_open and not is_over:  # so it is with nearly everything that is written
            if is_open:
                self._note_tools(stored)
            return
        end = next((at for at in range(len(stored) - 1, -1, -1) if stored[at].kind == _TURN_COMPLETE), -1)
        if was_open:
            self._note_tools(stored[:end] if end >= 0 else stored)
        if is_over:
            at_ns = AgentEvent.FromString(stored[end].data).timestamp.ToNanoseconds() if end >= 0 else now_ns()
            self._tell(lambda: self._watch.ended(self._session, before.turns + 1, after.turns, at_ns))
        elif was_open and not is_open:
            turn = after.turns + 1
            self._tell(lambda: self._watch.ended(self._session, turn, turn, now_ns()))
        if is_open:
            self._has_used_tool = False
            self._tell(lambda: self._watch.began(self._session, after.turns + 1))
            self._note_tools(stored[end + 1 :])

    async def deleted(self) -> None:
        """Return when the watch has removed what it stored of the session."""
        try:
            await self._watch.deleted(self._session)
        except Exception:
            logger.exception("the snapshots of a session were not removed", extra=self._extra)

    def _note_tools(self, stored: Sequence[StoredEvent]) -> None:
        if not self._has_used_tool and any(each.kind == _TOOL_START for each in stored):
            self._has_used_tool = True
            self._tell(lambda: self._watch.used_tool(self._session))

    def _tell(self, what: Callable[[], None]) -> None:
        try:
            what()
        except Exception:
            logger.exception("a turn could not be watched", extra=self._extra)
