"""Stopping a turn because a person asked for it."""

from betcode.domain.changes import AddInput, Change, MoveInput
from betcode.domain.commands import Interrupt
from betcode.domain.identifiers import time_ordered_uuid
from betcode.domain.rows import OPENS_TURN, InputKind, InputRow, InputState
from betcode.domain.session import SessionStimulus, advance
from betcode.sessions import compacting, events
from betcode.sessions.live import LiveSession
from betcode.v1 import agent_pb2 as v1


async def cancel_turn(session: LiveSession, *, cancel_queued: bool) -> bool:
    """Interrupt the open turn; False where none is open."""
    session.refuse_if_degraded()
    async with session.lock:
        if session.at_rest:
            await _drop_what_waits(session, cancel_queued=cancel_queued)
            return False
        if compacting.is_waiting(session) and not cancel_queued:
            await _drop_compaction(session)
            return True
        undelivered = [row for row in session.inputs.values() if row.kind in OPENS_TURN and row.number == 0]
        working = session.run is not None and (session.run.dialogue.turn_open or len(undelivered) < len(session.inputs))
        dropped = undelivered if cancel_queued or not working else []
        changes: list[Change] = [MoveInput(session.writer.key, row.input_id, InputState.CANCELLED) for row in dropped]
        said = [
            events.message_state(row.input_id, v1.MESSAGE_STATE_CANCELLED, "cancelled")
            for row in dropped
            if row.kind is InputKind.MESSAGE
        ]
        interrupt: InputRow | None = None
        if working and session.provider.capabilities.interrupt:
            command = Interrupt(time_ordered_uuid(), cancel_queued)
            interrupt = session.control_row(command)
            changes.append(AddInput(interrupt))
        status = session.writer.state.status
        if not working:
            status = advance(status, SessionStimulus.TURN_CLOSED)
            said += [events.turn_complete("cancelled"), events.status(v1.IDLE)]
        await session.writer.write(said, changes, status=status)
        for row in dropped:
            session.inputs.pop(row.input_id, None)
        compacting.settle(session, "it was cancelled")
        if interrupt is not None:
            session.inputs[interrupt.input_id] = interrupt
        if not working:
            session.room.slots.give_back(session)
        session.go_on()
        return True


async def _drop_compaction(session: LiveSession) -> None:
    """No agent has heard of it yet; messages behind it go on."""
    rests = compacting.rests_after(session)
    dropped = [row for row in session.inputs.values() if row.kind is InputKind.COMPACTION]
    changes: list[Change] = [MoveInput(row.session, row.input_id, InputState.CANCELLED) for row in dropped]
    said = [events.turn_complete("cancelled"), *([events.status(v1.IDLE)] if rests else ())]
    status = session.writer.state.status
    await session.writer.write(said, changes, status=advance(status, SessionStimulus.TURN_CLOSED) if rests else status)
    for row in dropped:
        del session.inputs[row.input_id]
    compacting.settle(session, "it was cancelled")
    if rests:
        session.room.slots.give_back(session)
    session.go_on()


async def _drop_what_waits(session: LiveSession, *, cancel_queued: bool) -> None:
    """After a crash messages wait for the next agent: the way to be rid of one that no agent survives."""
    waiting = [row for row in session.inputs.values() if row.kind is InputKind.MESSAGE] if cancel_queued else []
    if session.run is None and waiting:
        said = [events.message_state(row.input_id, v1.MESSAGE_STATE_CANCELLED, "cancelled") for row in waiting]
        await session.writer.write(
            said, [MoveInput(row.session, row.input_id, InputState.CANCELLED) for row in waiting]
        )
        session.inputs.clear()
