"""Accept a message: store and acknowledge it before acting on it."""

import hashlib
from functools import partial

from betcode.domain.agents.commands import SendMessage
from betcode.domain.agents.provider_about import KnowsLogin
from betcode.domain.bounded_io import FilesystemTimeout
from betcode.domain.errors import AgentUnavailable, InvalidRequest, SessionNotReady
from betcode.domain.sessions.phase import Phase
from betcode.domain.store.changes import AddInput
from betcode.domain.store.rows import InputRow
from betcode.domain.values.identifiers import MessageId
from betcode.engine.client_name import ClientName
from betcode.engine.core import events
from betcode.engine.core.capability_checks import check_files
from betcode.engine.operations.import_turns import import_outside_turns
from betcode.engine.results import AcceptedMessage
from betcode.engine.shell.attachments import stored
from betcode.engine.shell.session import LiveSession
from betcode.engine.shell.working_directory import directory_problem
from betcode.engine.validation import check_message
from betcode.v1 import agent_pb2 as v1


async def submit(
    session: LiveSession, message: SendMessage, client: ClientName, *, only_if_running: bool = False
) -> AcceptedMessage:
    """Accept a message: on disk, acknowledged by its user_input event, on its way to the agent."""
    digest = _digest(message)
    message = check_message(message, session.context.settings)
    misplaced = await directory_problem(session.context, session.writer.new)
    logged_out = await _login_refusal(session)
    await import_outside_turns(session)  # they come before the message in the history
    async with session.changing():
        session.refuse_if_closed()
        known = session.inputs.get(message.message_id) or await session.context.store.find_input(
            session.writer.key, message.message_id
        )
        if known is not None:
            return _same_again(known, digest)
        if only_if_running and session.phase is not Phase.RUNNING:
            raise SessionNotReady(session.session_id, session.phase, Phase.RUNNING)
        session.refuse_if_stopping()
        session.refuse_if_timed_out()
        if misplaced is not None:
            raise misplaced
        if logged_out and session.run is None:
            raise AgentUnavailable(logged_out)
        check_files(message, session.provider.name, session.capabilities)
        session.context.database.refuse_when_full()
        session.budget.refuse_if_exceeded()
        session.input_lock.refuse_if_locked(client)
        await session.admit()
        seq = session.writer.next_seq
        row = session.message_row(message, digest, seq)
        blobs, files = stored(session.writer.key, message.attachments)
        said = [events.user_input(message.content, message.message_id, client.client_id, files)]
        slots = session.context.slots
        if session.budget.lets_wait(row):
            said += session.budget.told_to_wait([row])
        elif slots.at_work >= slots.limit and not slots.has(session) and not session.prompts:
            reason = f"Waiting for a free slot: {slots.at_work} turns are running"
            said.append(events.message_state(row.input_id, v1.MESSAGE_STATE_ACCEPTED, reason))
        status = session.writer.state.status if session.budget.lets_wait(row) else session.opened()
        with session.input_lock.typing(client):
            await session.writer.write(said, [AddInput(row), *blobs, *session.failure.cleared()], status=status)
        session.failure.clear()
        session.may_start = True
        session.recovery.hurry()
        session.go_on()
        return AcceptedMessage(message.message_id, seq)


async def _login_refusal(session: LiveSession) -> str:
    """Why an agent that would be started for a message could not work; empty where nobody can know."""
    provider, context = session.provider, session.context
    if session.run is not None or not isinstance(provider, KnowsLogin):
        return ""
    environment = session.writer.new.environment
    if environment is None:
        environment = await context.login_shell.environment()
    try:
        return await context.file_io.run(f"provider {provider.name}", partial(provider.login_refusal, environment))
    except FilesystemTimeout:
        return ""


def _digest(message: SendMessage) -> bytes:
    digest = hashlib.sha256(message.content.encode("utf-8", "surrogatepass"))
    for attached in message.attachments:
        for part in (attached.filename.encode("utf-8", "surrogatepass"), attached.mime_type.encode(), attached.data):
            digest.update(len(part).to_bytes(8, "big") + part)
    return digest.digest()


def _same_again(known: InputRow, digest: bytes) -> AcceptedMessage:
    if known.content != digest:
        raise InvalidRequest(
            "This message id was used for another message: make a new one", message_id=MessageId(known.input_id)
        )
    return AcceptedMessage(MessageId(known.input_id), known.seq)
