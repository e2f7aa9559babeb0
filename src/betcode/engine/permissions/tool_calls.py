"""Screen tool calls that an agent reports before it applies its own rules."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import anyio

from betcode.domain.agents.agent_state import CallScreening
from betcode.domain.agents.commands import ScreenCalls
from betcode.domain.permissions.audit import AuditEntry
from betcode.domain.runs.silence import Silence
from betcode.domain.store.changes import AddAudit, AddInput, Change
from betcode.domain.store.rows import InputKind, InputRow
from betcode.domain.values.identifiers import time_ordered_uuid
from betcode.engine.core.decision import Decision
from betcode.engine.fault_points import FaultPoint

if TYPE_CHECKING:
    from betcode.engine.shell.run import AgentRun

_ACKNOWLEDGED_WITHIN_S = 30.0
_SILENT = (
    "it did not confirm within {:g} s that it submits its tool calls; "
    "deny and ask rules would have no effect, so it was ended"
)
_REFUSED = (
    "it does not support submitting its tool calls; it was ended. "
    "The next agent starts with only the rules that deny a whole tool"
)
_WHAT_TO_DO = (
    "retry, or use another version of the agent. With permissions.screen_all = never, rules only apply to calls that "
    "the agent submits for approval"
)


class ToolCallScreener:
    """Of one run. Every method that writes is called with the session's lock, or takes it."""

    def __init__(self, run: AgentRun) -> None:
        self._run = run
        self._answered: set[str] = set()  # requests whose answers are on their way
        self._told_at: float | None = None  # when it was told to show every use of a tool, as far as that is known
        self._silence = Silence()
        self._is_looking = False
        if run.dialogue.view.call_screening is CallScreening.TOLD:
            self.told()  # by a daemon before us

    def told(self) -> None:
        """It has been told, or will be before anything else, to show every use of a tool."""
        self._told_at = anyio.current_time()

    @property
    def holds_messages(self) -> bool:
        """Whether a message has to wait: the agent would begin with it before it shows what it does."""
        state, screening = self._run.dialogue.view.call_screening, self._run.session.screening
        if state is CallScreening.REFUSED:
            return screening.relies_on_calls or bool(self._run.watch.verdict)
        is_open = state in (CallScreening.NO, CallScreening.TOLD) and self._told_at is not None
        return is_open and screening.is_wanted

    async def answers(self, inputs: Mapping[str, InputRow]) -> tuple[list[InputRow], list[AuditEntry]]:
        """What is to be said to those that wait and are not answered yet, and what is kept of it."""
        session, waiting = self._run.session, self._run.dialogue.view.calls
        if not waiting:
            return [], []
        self._answered &= {call.request_id for call in waiting}
        on_their_way = {row.content for row in inputs.values() if row.kind is InputKind.CONTROL}
        rows: list[InputRow] = []
        entries: list[AuditEntry] = []
        for call in waiting:
            about = call.request_id.encode("utf-8", "replace")
            if call.request_id in self._answered or (about and about in on_their_way):
                continue
            answer, entry = await session.screening.screen_call(call)
            rows.append(session.control_row(answer, call.request_id))
            entries += [entry] if entry is not None else []
            self._answered.add(call.request_id)
        return rows, entries

    async def take_up(self) -> None:
        """Answer what a daemon before us read and did not answer."""
        session = self._run.session
        if not self._run.dialogue.view.calls:
            return
        async with session.lock:
            await session.screening.refresh()
            rows, entries = await self.answers(session.inputs)
            if rows:
                changes: list[Change] = [AddInput(row) for row in rows]
                changes += [AddAudit(entry) for entry in entries]
                await session.perform_locked(Decision(changes=tuple(changes)), surely=True)

    def look(self) -> None:
        """Notice rules that have changed while the agent asks nothing; never waits."""
        session = self._run.session
        session.context.faults(FaultPoint.CALL_SCREENING, session.session_id)
        if self._told_at is not None and self._run.dialogue.view.call_screening is not CallScreening.YES:
            session.deliverable.set()  # what a message waited for may not be wanted any more
        self._look_for_a_refusal()
        self._look_for_an_acknowledgement()
        if not self._is_told and self._run.attachment is not None and not self._is_looking:
            self._is_looking = True
            session.tasks.start_soon(FaultPoint.RULE_CHECK, self._heed_rules)

    def _look_for_a_refusal(self) -> None:
        """An agent that refuses has no rule for a whole tool: it is ended, and the next one gets them all."""
        run, screening = self._run, self._run.session.screening
        if run.dialogue.view.call_screening is CallScreening.REFUSED and screening.relies_on_calls:
            screening.is_refused = True
            run.watch.condemn(_REFUSED)

    def _look_for_an_acknowledgement(self) -> None:
        """An agent that does not say that it shows what it does would do what rules deny: it is ended."""
        run, session = self._run, self._run.session
        hears = run.attachment is not None and not session.writer.degraded_reason
        watched = self.holds_messages and hears and not _is_ending(run)
        self._silence = self._silence.looked(anyio.current_time(), self._told_at or 0.0, watched=watched)
        bound_s = min(_ACKNOWLEDGED_WITHIN_S, session.context.settings.hang_after_s)
        if self._silence.seconds >= bound_s:
            # Once may be bad luck: the machine was busy.
            is_again = session.writer.state.crashes.in_a_row > 0
            run.watch.condemn(_SILENT.format(bound_s), _WHAT_TO_DO if is_again else "")

    async def _heed_rules(self) -> None:
        session = self._run.session
        try:
            if not (session.screening.is_wanted or await session.screening.book.has_changed()):
                return
        finally:
            self._is_looking = False
        async with session.lock:
            await self.heed_rules()
            session.go_on()

    async def heed_rules(self) -> None:
        """Have the agent ask about every use of a tool, if rules that are there by now need it."""
        session = self._run.session
        if self._is_told or self._run.ended.is_set():
            return
        await session.screening.refresh()
        if said := session.screening.newly_out_of_reach():
            await session.perform_locked(Decision(tuple(said)), surely=True)
        if session.screening.is_wanted:
            row = session.control_row(ScreenCalls(time_ordered_uuid()))
            await session.perform_locked(Decision(changes=(AddInput(row),)), surely=True)
            self.told()

    @property
    def _is_told(self) -> bool:
        return self._told_at is not None or self._run.dialogue.view.call_screening is not CallScreening.NO


def _is_ending(run: AgentRun) -> bool:
    return run.flags.asked_to_end or run.flags.stopped or bool(run.row.cancel_step)
