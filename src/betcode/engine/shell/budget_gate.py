"""Enforce a session's budget: when a limit is reached, finish the turn, then ask a person or reject messages."""

from __future__ import annotations

import json
import logging
from collections.abc import Container, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from betcode.domain.errors import BudgetExceeded, InvalidRequest
from betcode.domain.permissions.audit import DecidedBy
from betcode.domain.sessions.budget import Budget, OnReached, describe, limited, raised, reached
from betcode.domain.store.changes import Change, MoveInput, SavePrompt
from betcode.domain.store.rows import InputRow, InputState, PromptKind, PromptRow
from betcode.domain.values.identifiers import time_ordered_uuid
from betcode.engine.client_name import ClientName
from betcode.engine.core import budget as budget_rules
from betcode.engine.core import events
from betcode.engine.core.answer import decision_changes
from betcode.engine.core.capability_checks import unmeasured_limits_notice
from betcode.engine.core.prompt_decision import PromptDecision
from betcode.engine.core.state import NO_RUN
from betcode.engine.core.status import status_after
from betcode.engine.fault_points import FaultPoint
from betcode.engine.maintenance.prompt_times import assign_expiry, record_opened
from betcode.engine.shell.views import agent_view
from betcode.util.wall_clock import now_ns
from betcode.v1 import agent_pb2 as v1

if TYPE_CHECKING:
    from betcode.engine.shell.session import LiveSession

logger = logging.getLogger(__name__)

TOOL_NAME = "Budget"
_NOT_RAISED = "the budget is used up and was not raised"
_CHANGED = "the budget was changed"
_WAITS = "Waiting for a person to raise the budget"


class BudgetGate:
    """Holds messages back while a limit is reached. Whatever it decides is on disk, so that a restart finds it so."""

    def __init__(self, session: LiveSession) -> None:
        self._session = session
        self._is_seen_to = False

    @property
    def prompt(self) -> PromptRow | None:
        """The open question whether to raise the budget."""
        return self._session.writer.session.budget_prompt

    @property
    def is_set(self) -> bool:
        return bool(self._budget)

    @property
    def holds(self) -> bool:
        """A limit is reached: no message goes to the agent."""
        return budget_rules.is_reached(self._session.writer.state)

    @property
    def waiting(self) -> list[InputRow]:
        """The messages that no agent was ever given; any other belongs to a turn that has begun."""
        return budget_rules.undelivered(self._session.inputs.values())

    @property
    def is_busy(self) -> bool:
        """Something is about to be written."""
        return self._is_seen_to

    def lets_wait(self, row: InputRow) -> bool:
        """Whether this message waits for a person, so that no turn begins with it by itself."""
        return budget_rules.waits_for_person(self.prompt, row)

    def told_to_wait(self, rows: Sequence[InputRow]) -> list[v1.AgentEvent]:
        """What the senders of these are told while the question is open."""
        return [events.message_state(row.input_id, v1.MESSAGE_STATE_ACCEPTED, _WAITS) for row in rows]

    def refuse_if_exceeded(self) -> None:
        """Raises BudgetExceeded where the session is to refuse messages."""
        if self._budget.on_reached is OnReached.REFUSE and self.holds:
            raise BudgetExceeded(
                f"The session's budget is used up ({self._figures()}): raise it with SetBudget or "
                f"betcode session budget {self._session.session_id}",
                session_id=self._session.session_id,
                reached=",".join(self._reached),
                limit=describe(self._budget.limits, self._reached),
                spent=describe(self._session.writer.state.spent, self._reached),
            )

    def look(self) -> None:
        """See to what reaching a limit means, if that is not done yet. Never waits."""
        if self._is_due and not self._is_seen_to:
            self._is_seen_to = True
            self._session.tasks.start_soon(FaultPoint.BUDGET_CHECK, self._see_to_it)

    async def answer(self, decision: PromptDecision, client: ClientName) -> None:
        """Raise the limits that are reached by the same amount again, or let go of what waits; the lock is held."""
        session, prompt = self._session, self.prompt
        assert prompt is not None
        if decision.grant is not None or decision.updated_input:
            raise InvalidRequest("A budget prompt accepts only ALLOW_ONCE or DENY")
        said = [events.answered(prompt.request_id, decision, client)]
        answered, entry = decision_changes(session.session_id, prompt, decision, client, now_ns())
        changes: list[Change] = [SavePrompt(answered), entry]
        if decision.allows:
            after = raised(self._budget, session.writer.state.spent)
            said.append(_notice(f"The budget was raised to {describe(after.limits, self._reached)}"))
            status = session.opened() if self.waiting else session.writer.state.status
            await session.writer.write(said, changes, budget=after, status=status)
            session.may_start = True
        else:
            self._drop(decision.message or _NOT_RAISED, said, changes)
            await session.writer.write(said, changes)
        session.go_on()

    async def expire(self, why: str, said: list[v1.AgentEvent], changes: list[Change]) -> None:
        """Nobody answered in time: what waited is let go, and the next message asks anew. The lock is held."""
        self._drop(why, said, changes)
        await self._session.writer.write(said, changes)

    async def change(self, budget: Budget) -> None:
        """Other limits from now on; what waits goes on when they leave room. The lock is held."""
        session = self._session
        said = [_notice(_told_of(budget))]
        if note := unmeasured_limits_notice(budget, session.provider.name, session.capabilities):
            said.append(_notice(note))
        changes: list[Change] = []
        status = session.writer.state.status
        if self.prompt is not None:  # it names the old limits; where the new ones are reached too it is asked anew
            told, changes = self.withdrawn(_CHANGED)
            said += told
            status = session.opened() if self.waiting else status
        await session.writer.write(said, changes, budget=budget, status=status)
        if changes:
            session.may_start = True
        session.go_on()

    async def drop_waiting(self, why: str) -> tuple[str, ...]:
        """Cancel what waits for a person, and the question with it; which messages that were. The lock is held."""
        if self.prompt is None:
            return ()
        said, changes = self.withdrawn(why)
        dropped = self._drop(why, said, changes)
        await self._session.writer.write(said, changes)
        return tuple(dropped)

    def withdrawn(self, why: str, by: DecidedBy = DecidedBy.PERSON) -> tuple[list[v1.AgentEvent], list[Change]]:
        """What is said and stored when the open question has no sense any more."""
        done = budget_rules.withdraw_question(self._session.session_id, self.prompt, why, now_ns(), by)
        return list(done.events), list(done.changes)

    def in_vain(
        self, given_up: Container[str], why: str, by: DecidedBy = DecidedBy.AGENT
    ) -> tuple[list[v1.AgentEvent], list[Change]]:
        """Withdraw the budget's question where every message that waits for the answer is given up."""
        done = budget_rules.withdraw_if_nothing_waits(
            self._session.session_id, self.prompt, self._session.inputs.values(), given_up, why, now_ns(), by
        )
        return list(done.events), list(done.changes)

    def reset(self) -> None:
        """The session has failed: nothing waits and nothing is asked."""
        self._is_seen_to = False

    # ------------------------------------------------------------ inside

    @property
    def _budget(self) -> Budget:
        return self._session.writer.state.budget

    @property
    def _reached(self) -> tuple[str, ...]:
        return reached(self._budget, self._session.writer.state.spent)

    @property
    def _is_due(self) -> bool:
        if not self.holds or self._session.is_closed:
            return False
        asks = self._budget.on_reached is OnReached.ASK
        return not self._budget.told or (bool(self.waiting) and not (asks and self.prompt is not None))

    async def _see_to_it(self) -> None:
        try:
            async with self._session.lock:
                if self._is_due:
                    await self._tell_and_ask()
        except Exception:
            # Tried again when something happens next; what waits goes on waiting, and nobody else is harmed.
            logger.exception("the budget check failed", extra=self._session.log_extra)
            return
        finally:
            self._is_seen_to = False
        self._session.go_on()

    async def _tell_and_ask(self) -> None:
        session = self._session
        session.context.faults(FaultPoint.BEFORE_BUDGET_PROMPT, session.session_id)
        said: list[v1.AgentEvent] = []
        changes: list[Change] = []
        budget, prompt, dropped = self._budget, self.prompt, dict[str, None]()
        if not budget.told:
            then = "refuses" if budget.on_reached is OnReached.REFUSE else "asks before"
            asks = bool(self.waiting) and budget.on_reached is OnReached.ASK and prompt is None
            figures = "" if asks else f" ({self._figures()})"  # the question behind it has them
            message = f"The budget is used up{figures}: betcode {then} the next message"
            said.append(_notice(message, *self._reached))
        if self.waiting and budget.on_reached is OnReached.REFUSE:
            told, kept = self.withdrawn(_NOT_RAISED)
            said += told
            changes += kept
            dropped, prompt = self._drop(_NOT_RAISED, said, changes), None
        elif self.waiting and prompt is None:
            prompt, shown = self._question(len(said))
            said.append(shown)
            changes.append(SavePrompt(prompt))
            said += self.told_to_wait(self.waiting)
            if not session.turn_open:
                said.append(events.status(v1.WAITING_FOR_USER))
        opened = assign_expiry(session, said, changes)
        left = {name: row for name, row in session.inputs.items() if name not in dropped}
        agent = agent_view(session)
        turn_open = agent is not None and agent.turn_open and not agent.is_leaving
        asked = opened[0] if opened else prompt
        status = status_after(session.writer.state.status, left.values(), asked, turn_open=turn_open)
        await session.writer.write_surely(said, changes, budget=replace(budget, told=True), status=status)
        record_opened(session, opened)
        session.settle()  # a message that has to wait needs neither slot nor place in line
        logger.info("the budget is used up: %s", self._figures(), extra=session.log_extra)

    def _question(self, said_before: int) -> tuple[PromptRow, v1.AgentEvent]:
        state, names = self._session.writer.state, self._reached
        after = raised(state.budget, state.spent)
        facts = {
            "reached": list(names),
            "spent": describe(state.spent, names),
            "limit": describe(state.budget.limits, names),
            "limit_if_allowed": describe(after.limits, names),
        }
        what = f"{facts['spent']} of {facts['limit']} spent: raise the budget to {facts['limit_if_allowed']}?"
        event = events.stamp(
            events.permission_request(time_ordered_uuid(), TOOL_NAME, what, json.dumps(facts)), now_ns()
        )
        row = PromptRow(
            request_id=event.permission_request.request_id,
            session=self._session.writer.key,
            run=NO_RUN,
            kind=PromptKind.PERMISSION,
            tool_name=TOOL_NAME,
            input_json=event.permission_request.input_json,
            event=event.SerializeToString(),
            seq=self._session.writer.seq_after(said_before),
            asked_ns=event.timestamp.ToNanoseconds(),
        )
        return row, event

    def _drop(self, why: str, said: list[v1.AgentEvent], changes: list[Change]) -> dict[str, None]:
        """Say and store that what waits is cancelled."""
        for row in self.waiting:
            said.append(events.message_state(row.input_id, v1.MESSAGE_STATE_CANCELLED, why))
            changes.append(MoveInput(row.session, row.input_id, InputState.CANCELLED))
        if not self._session.turn_open and self._session.compaction is None:
            said.append(events.status(v1.IDLE))
        return {row.input_id: None for row in self.waiting}

    def _figures(self) -> str:
        state, names = self._session.writer.state, self._reached
        return f"{describe(state.spent, names)} spent, {describe(state.budget.limits, names)} allowed"


def _notice(message: str, *names: str) -> v1.AgentEvent:
    details = {"reached": ",".join(names)} if names else {}
    return events.notice(v1.NOTICE_KIND_BUDGET, message, **details)


def _told_of(budget: Budget) -> str:
    if not budget:
        return "The session no longer has a budget"
    then = "refuses" if budget.on_reached is OnReached.REFUSE else "asks before"
    return f"The budget is {describe(budget.limits, limited(budget))}; at the limit betcode {then} the next message"
