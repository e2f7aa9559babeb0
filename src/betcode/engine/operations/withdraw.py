"""Withdraw one message: from the engine's queue or from the agent's own queue."""

from dataclasses import dataclass

import anyio

from betcode.domain.agents.commands import WithdrawMessage
from betcode.domain.errors import InvalidRequest, MessageNotFound
from betcode.domain.permissions.audit import DecidedBy
from betcode.domain.store.changes import AddInput
from betcode.domain.store.rows import InputKind, InputRow, InputState
from betcode.domain.values.identifiers import MessageId, NotAnIdentifier, parse_uuid, time_ordered_uuid
from betcode.engine.core import events
from betcode.engine.core.cancel import (
    already_begun,
    is_whole_turn,
    transcript_without,
    waiting_messages,
    withdraw_messages,
)
from betcode.engine.operations.cancel import cancel_without_agent
from betcode.engine.shell.run import AgentRun
from betcode.engine.shell.session import LiveSession
from betcode.engine.shell.views import agent_view, session_view
from betcode.v1 import agent_pb2 as v1

WITHDRAWN = "withdrawn"  # why a message was cancelled
_NOBODY_WAITS = "The messages that waited for the answer were withdrawn"
_ANSWERS_WITHIN_S = 5.0  # an agent that lives does so in a few milliseconds


@dataclass(frozen=True, slots=True)
class WithdrawResult:
    """What the message is now: CANCELLED where it was withdrawn, by this or before."""

    state: InputState


async def withdraw_message(session: LiveSession, text: str) -> WithdrawResult:
    """Have no agent answer this message, unless one has begun to. The same again has the same outcome.

    An agent that has queued it is asked; where it does not say in time what it did, `message_state` tells it later.

    Raises:
        InvalidRequest: this is no id of a message.
        MessageNotFound: the session never had it.
        StorageDegraded
    """
    try:
        message_id = MessageId(parse_uuid(text))
    except NotAnIdentifier:
        raise InvalidRequest(f"The message id {text[:80]!r} is not a UUID: give the id of a message") from None
    deadline, was_asked = anyio.current_time() + _ANSWERS_WITHIN_S, False
    while True:
        async with session.changing():
            row, run = await _row(session, message_id), session.run
            if message_id not in session.inputs:
                return WithdrawResult(row.state)
            if row in waiting_messages(session_view(session), agent_view(session)):
                return WithdrawResult(await _take_back(session, row))
            if run is None or not _may_let_go(session, run, message_id):
                return WithdrawResult(row.state)
            if not _is_asked(session, run, message_id):
                if was_asked:
                    return WithdrawResult(row.state)  # it said no
                await _ask(session, message_id)
            was_asked = True
        with anyio.CancelScope(deadline=deadline) as waited:
            await session.changed.wait()
        if waited.cancelled_caught:
            return WithdrawResult(row.state)


async def _row(session: LiveSession, message_id: MessageId) -> InputRow:
    row = session.inputs.get(message_id) or await session.context.store.find_input(session.writer.key, message_id)
    if row is None or row.kind is not InputKind.MESSAGE:
        raise MessageNotFound(session.session_id, message_id)
    return row


async def _take_back(session: LiveSession, row: InputRow) -> InputState:
    """No agent has it, or only one that makes way; but one that is gone may have begun with it."""
    if row in already_begun(session.writer.state, [row]):
        return row.state
    run, others = session.run, {name: each for name, each in session.inputs.items() if name != row.input_id}
    if is_whole_turn(session_view(session), agent_view(session), row):
        await cancel_without_agent(session, [row], cancel_queued=False, why=WITHDRAWN)  # it was to be the turn
        return InputState.CANCELLED
    done = withdraw_messages([row], WITHDRAWN)
    told, kept = session.budget.in_vain({row.input_id}, _NOBODY_WAITS, DecidedBy.PERSON)
    if told and not session.turn_open and session.compaction is None:
        told.append(events.status(v1.IDLE))
    status = session.status_after(run, None if run is None else run.row, others)
    transcript = transcript_without(session.writer.state.transcript, [row])
    await session.writer.write([*done.events, *told], [*done.changes, *kept], status=status, transcript=transcript)
    session.settle()
    return InputState.CANCELLED


def _may_let_go(session: LiveSession, run: AgentRun, message_id: MessageId) -> bool:
    return session.capabilities.withdraw and message_id not in run.dialogue.view.answering


def _is_asked(session: LiveSession, run: AgentRun, message_id: MessageId) -> bool:
    """Whether the agent has been asked, or is about to be, and has not answered."""
    about = message_id.encode()
    on_its_way = any(row.kind is InputKind.CONTROL and row.content == about for row in session.inputs.values())
    return on_its_way or message_id in run.dialogue.view.withdrawing


async def _ask(session: LiveSession, message_id: MessageId) -> None:
    row = session.control_row(WithdrawMessage(time_ordered_uuid(), message_id), message_id)
    await session.writer.write((), [AddInput(row)])
    session.go_on()
