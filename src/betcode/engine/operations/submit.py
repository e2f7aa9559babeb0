"""Accept a message: store and acknowledge it before acting on it."""

import hashlib
from functools import partial

from betcode.domain.agents.commands import SendMessage
from betcode.domain.agents.provider_about import KnowsLogin
from betcode.domain.bounded_io import FilesystemTimeout
from betcode.domain.store.rows import InputRow
from betcode.domain.values.identifiers import MessageId
from betcode.engine.client_name import ClientName
from betcode.engine.core.message import AdmissionFacts, MessageFacts, check_admission, on_message
from betcode.engine.operations.import_turns import import_outside_turns
from betcode.engine.results import AcceptedMessage
from betcode.engine.shell.attachments import stored
from betcode.engine.shell.session import LiveSession
from betcode.engine.shell.views import session_view
from betcode.engine.shell.working_directory import directory_problem
from betcode.engine.validation import check_message


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
        earlier = session.inputs.get(message.message_id) or await session.context.store.find_input(
            session.writer.key, message.message_id
        )
        facts = AdmissionFacts(
            client,
            digest,
            earlier,
            phase=session.phase,
            only_if_running=only_if_running,
            is_stopping=session.lifecycle.is_stopping,
            is_timed_out=_is_timed_out(session),
            has_agent=session.run is not None,
            login_problem=logged_out,
            directory_problem=misplaced,
            database_problem=session.context.database.refusal,
            lock_holder=session.input_lock.holder,
        )
        if (known := check_admission(session_view(session), message, facts)) is not None:
            return AcceptedMessage(MessageId(known.input_id), known.seq)
        await session.admit()
        row = session.message_row(message, digest, session.writer.next_seq)
        decision = on_message(session_view(session), message, _facts(session, message, row, client))
        with session.input_lock.typing(client):
            await session.perform_locked(decision)
        return AcceptedMessage(message.message_id, row.seq)


def _is_timed_out(session: LiveSession) -> bool:
    deadline_ns = session.binding.deadline_ns
    return bool(deadline_ns) and session.context.timeouts.clock.now_ns() >= deadline_ns


def _facts(session: LiveSession, message: SendMessage, row: InputRow, client: ClientName) -> MessageFacts:
    slots = session.context.slots
    blobs, files = stored(session.writer.key, message.attachments)
    return MessageFacts(
        row,
        client,
        tuple(files),
        tuple(blobs),
        binding=session.binding,
        turns_at_work=slots.at_work,
        turn_limit=slots.limit,
        has_slot=slots.has(session),
    )


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
