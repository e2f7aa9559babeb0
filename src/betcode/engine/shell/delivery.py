"""Deliver inputs to an agent: number them on disk first, then pass them to its holder in order."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from betcode.domain.store.changes import AssignInput, Change, SaveRun
from betcode.domain.store.rows import InputKind, InputRow
from betcode.engine.core.admission import DeliveryFacts, assignable
from betcode.engine.core.decision import Decision
from betcode.engine.fault_points import FaultPoint
from betcode.engine.shell.holder_client import Attachment, HolderGone, InputClosed
from betcode.engine.shell.views import run_view, session_view

if TYPE_CHECKING:
    from betcode.engine.shell.run import AgentRun


async def deliver(run: AgentRun, attachment: Attachment) -> None:
    """Hand over what is assigned, in order; a number that the holder has seen before does nothing."""
    session = run.session
    try:
        handed = attachment.hello.last_input
        for row in sorted(session.inputs.values(), key=lambda row: row.number):
            if row.run == run.row.key and row.number > handed:
                await _hand_over(run, attachment, row)
        while True:
            for row in await _assign(run):
                await _hand_over(run, attachment, row)
            await session.deliverable.wait()
            session.deliverable.clear()
    except InputClosed:
        run.refuse_inputs()
    except HolderGone:
        return  # the reader notices it too, and decides


async def _hand_over(run: AgentRun, attachment: Attachment, row: InputRow) -> None:
    await attachment.hand_over(row.number, row.payload)
    run.session.context.faults(FaultPoint.AFTER_HAND_OVER, run.session.session_id)


async def _assign(run: AgentRun) -> list[InputRow]:
    """Give numbers to what may go now; they are on disk before the holder hears of them."""
    session = run.session
    async with session.lock:
        if run.flags.asked_to_end:
            return []
        if any(row.kind is InputKind.MESSAGE for row in _assignable(run)):
            await run.calls.heed_rules()  # before the agent begins something under rules that have changed
        number = run.row.last_input
        assigned: list[InputRow] = []
        changes: list[Change] = []
        for row in _assignable(run):
            number += 1
            payload = run.dialogue.addressed(row.payload)
            assigned.append(replace(row, run=run.row.key, number=number, payload=payload))
            changes.append(AssignInput(row.session, row.input_id, run.row.key, number, payload))
        if not assigned:
            return []
        after = replace(run.row, last_input=number)
        await session.perform_locked(Decision(changes=(*changes, SaveRun(after))), surely=True)
        run.note_activity()
        return assigned


def _assignable(run: AgentRun) -> list[InputRow]:
    """The inputs that may go to this run now, in order."""
    session = run.session
    facts = DeliveryFacts(
        has_slot=session.context.slots.has(session),
        is_ready=run.dialogue.view.is_ready,
        is_compacting=session.compaction is not None,
        awaits_screening=run.calls.holds_messages,
    )
    return assignable(session_view(session), run_view(run), facts)
