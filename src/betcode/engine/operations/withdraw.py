"""Withdraw one message: from the engine's queue or from the agent's own queue."""

from dataclasses import dataclass

import anyio

from betcode.domain.agents.commands import WithdrawMessage
from betcode.domain.errors import InvalidRequest, MessageNotFound
from betcode.domain.store.changes import AddInput
from betcode.domain.store.rows import InputKind, InputRow, InputState
from betcode.domain.values.identifiers import MessageId, NotAnIdentifier, parse_uuid, time_ordered_uuid
from betcode.engine.core.cancel import already_begun, waiting_messages, withdraw_one
from betcode.engine.core.decision import Advance, Decision
from betcode.engine.shell.run import AgentRun
from betcode.engine.shell.session import LiveSession
from betcode.engine.shell.views import agent_view, session_view
from betcode.util.wall_clock import now_ns

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
    await session.perform_locked(withdraw_one(session_view(session), agent_view(session), row, now_ns()))
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
    await session.perform_locked(Decision(changes=(AddInput(row),), effects=(Advance(),)))
