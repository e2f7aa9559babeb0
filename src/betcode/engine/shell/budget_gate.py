"""Enforce a session's budget: when a limit is reached, finish the turn, then ask a person or reject messages."""

from __future__ import annotations

import logging
from collections.abc import Container
from typing import TYPE_CHECKING

from betcode.domain.permissions.audit import DecidedBy
from betcode.domain.sessions.budget import Budget
from betcode.domain.sessions.budget_state import is_reached, undelivered
from betcode.domain.store.changes import Change
from betcode.domain.store.rows import PromptRow
from betcode.domain.values.identifiers import time_ordered_uuid
from betcode.engine.client_name import ClientName
from betcode.engine.core import budget as budget_rules
from betcode.engine.core.decision import Decision
from betcode.engine.core.prompt_decision import PromptDecision
from betcode.engine.fault_points import FaultPoint
from betcode.engine.maintenance.prompt_times import assign_expiry, record_opened
from betcode.engine.shell.views import agent_view, session_view
from betcode.util.wall_clock import now_ns
from betcode.v1 import agent_pb2 as v1

if TYPE_CHECKING:
    from betcode.engine.shell.session import LiveSession

logger = logging.getLogger(__name__)


class BudgetGate:
    """Commits what `core.budget` decides. All of it is stored, so that a restarted daemon continues from there."""

    def __init__(self, session: LiveSession) -> None:
        self._session = session
        self._is_seen_to = False

    @property
    def prompt(self) -> PromptRow | None:
        """The open question whether to raise the budget."""
        return self._session.writer.session.budget_prompt

    @property
    def holds(self) -> bool:
        """A limit is reached: no message goes to the agent."""
        return is_reached(self._session.writer.state)

    @property
    def is_busy(self) -> bool:
        """Something is about to be written."""
        return self._is_seen_to

    def look(self) -> None:
        """Start the work of `on_reached` if it is due. Never waits."""
        if self._is_seen_to or not self.holds:  # every message comes here: build no view for most of them
            return
        if budget_rules.is_due(session_view(self._session)):
            self._is_seen_to = True
            self._session.tasks.start_soon(FaultPoint.BUDGET_CHECK, self._see_to_it)

    async def answer(self, decision: PromptDecision, client: ClientName) -> None:
        """Commit a person's answer to the open question. The lock is held."""
        session, prompt = self._session, self.prompt
        assert prompt is not None
        done = budget_rules.on_answer(session_view(session), prompt, decision, client, now_ns(), rests=self._rests)
        await session.perform_locked(done)

    async def expire(self, why: str, said: list[v1.AgentEvent], changes: list[Change]) -> None:
        """Nobody answered in time: cancel what waits. The next message asks again. The lock is held."""
        done = budget_rules.drop_waiting(session_view(self._session), why, rests=self._rests)
        both = Decision((*said, *done.events), (*changes, *done.changes))
        await self._session.perform_locked(both)

    async def change(self, budget: Budget) -> None:
        """Set other limits. The messages that wait are delivered if the limits allow it. The lock is held."""
        session = self._session
        await session.perform_locked(budget_rules.on_change(session_view(session), budget, now_ns()))

    async def drop_waiting(self, why: str) -> tuple[str, ...]:
        """Cancel the messages that wait for a person, with the question; return their ids. The lock is held."""
        if self.prompt is None:
            return ()
        session = self._session
        dropped = tuple(row.input_id for row in undelivered(session.inputs.values()))
        done = budget_rules.cancel_waiting(session_view(session), why, now_ns(), rests=self._rests)
        await session.perform_locked(done)
        return dropped

    def withdrawn(self, why: str, by: DecidedBy = DecidedBy.PERSON) -> tuple[list[v1.AgentEvent], list[Change]]:
        """The events and changes that close the open question without an answer."""
        done = budget_rules.withdraw_question(self._session.session_id, self.prompt, why, now_ns(), by)
        return list(done.events), list(done.changes)

    def in_vain(
        self, given_up: Container[str], why: str, by: DecidedBy = DecidedBy.AGENT
    ) -> tuple[list[v1.AgentEvent], list[Change]]:
        """Withdraw the question if every message that waits for the answer is given up."""
        done = budget_rules.withdraw_if_nothing_waits(
            self._session.session_id, self.prompt, self._session.inputs.values(), given_up, why, now_ns(), by
        )
        return list(done.events), list(done.changes)

    def reset(self) -> None:
        """The session has failed: nothing waits and nothing is asked."""
        self._is_seen_to = False

    # ------------------------------------------------------------ inside

    @property
    def _rests(self) -> bool:
        return not self._session.turn_open and self._session.compaction is None

    async def _see_to_it(self) -> None:
        try:
            async with self._session.lock:
                if budget_rules.is_due(session_view(self._session)):
                    await self._tell_and_ask()
        except Exception:
            # The next event of the session tries again. Messages wait until then; other sessions are not affected.
            logger.exception("the budget check failed", extra=self._session.log_extra)
            return
        finally:
            self._is_seen_to = False
        self._session.go_on()

    async def _tell_and_ask(self) -> None:
        session = self._session
        session.context.faults(FaultPoint.BEFORE_BUDGET_PROMPT, session.session_id)
        facts = budget_rules.LimitFacts(
            session.writer.key, time_ordered_uuid(), now_ns(), is_compacting=session.compaction is not None
        )
        done = budget_rules.on_reached(session_view(session), agent_view(session), facts)
        said, changes = list(done.events), list(done.changes)
        opened = assign_expiry(session, said, changes)
        await session.perform_locked(Decision(tuple(said), tuple(changes), done.fields), surely=True)
        record_opened(session, opened)
        session.settle()  # a message that has to wait needs neither slot nor place in line
        logger.info("the budget is used up: %s", budget_rules.figures(session.writer.state), extra=session.log_extra)
