"""Decide whether a message is accepted, which events report it, and the session's status afterwards."""

from __future__ import annotations

from dataclasses import dataclass, replace

from betcode.domain.agents.commands import SendMessage
from betcode.domain.errors import (
    AgentUnavailable,
    BetcodeError,
    InvalidRequest,
    NoInputLock,
    SessionClosed,
    SessionNotReady,
    SessionTimedOut,
)
from betcode.domain.sessions.binding import NO_BINDING, SessionBinding
from betcode.domain.sessions.budget_state import waits_for_person
from betcode.domain.sessions.phase import Phase
from betcode.domain.store.changes import AddBlob, AddInput, Change, SaveBinding
from betcode.domain.store.rows import InputRow
from betcode.domain.values.identifiers import MessageId
from betcode.engine.client_name import NOBODY, ClientName
from betcode.engine.core import budget, events
from betcode.engine.core.capability_checks import check_files
from betcode.engine.core.decision import Advance, AllowStart, Decision, RetryNow
from betcode.engine.core.status import turn_opened
from betcode.engine.core.view import SessionView
from betcode.v1 import agent_pb2 as v1


@dataclass(frozen=True, slots=True)
class AdmissionFacts:
    """What is known when a message arrives, beside the session itself."""

    client: ClientName
    digest: bytes = b""  # of the message: the same one sent again has the same
    earlier: InputRow | None = None  # the input that was accepted under this id
    phase: Phase = Phase.RUNNING
    only_if_running: bool = False
    is_stopping: bool = False
    is_timed_out: bool = False
    has_agent: bool = False
    login_problem: str = ""  # why a new agent could not work
    directory_problem: BetcodeError | None = None
    database_problem: BetcodeError | None = None
    lock_holder: ClientName = NOBODY


def check_admission(session: SessionView, message: SendMessage, facts: AdmissionFacts) -> InputRow | None:
    """Return the row of the same message if it was accepted before, or None if it is new.

    Raises:
        BetcodeError: the message is refused. The first reason in the order of the code counts.
    """
    if session.is_closed:
        raise SessionClosed(session.session_id)
    if facts.earlier is not None:
        if facts.earlier.content != facts.digest:
            raise InvalidRequest(
                "This message id was used for another message: make a new one",
                message_id=MessageId(facts.earlier.input_id),
            )
        return facts.earlier
    if facts.only_if_running and facts.phase is not Phase.RUNNING:
        raise SessionNotReady(session.session_id, facts.phase, Phase.RUNNING)
    if facts.is_stopping:
        raise SessionNotReady(session.session_id, facts.phase, "not being stopped")
    if facts.is_timed_out:
        raise SessionTimedOut(session.session_id)
    if facts.directory_problem is not None:
        raise facts.directory_problem
    if facts.login_problem and not facts.has_agent:
        raise AgentUnavailable(facts.login_problem)
    check_files(message, session.info.provider, session.capabilities)
    if facts.database_problem is not None:
        raise facts.database_problem
    budget.refuse_if_exceeded(session)
    holder = facts.lock_holder
    if holder.client_id not in ("", facts.client.client_id):
        raise NoInputLock(session.session_id, holder.client_id, holder.client_type, holder.shown_as)
    return None


@dataclass(frozen=True, slots=True)
class MessageFacts:
    """The rows of a message that is accepted, and the slots at that moment."""

    row: InputRow
    client: ClientName
    files: tuple[v1.StoredAttachment, ...] = ()
    blobs: tuple[AddBlob, ...] = ()
    binding: SessionBinding = NO_BINDING
    turns_at_work: int = 0  # of all sessions
    turn_limit: int = 1
    has_slot: bool = False


def on_message(session: SessionView, message: SendMessage, facts: MessageFacts) -> Decision:
    """Store and acknowledge a message. It waits for a person, for a slot, or goes to the agent."""
    row = facts.row
    new_events = [events.user_input(message.content, message.message_id, facts.client.client_id, facts.files)]
    waits = waits_for_person(session.budget_prompt, row)
    if waits:
        new_events += budget.waiting_events([row])
    elif facts.turns_at_work >= facts.turn_limit and not facts.has_slot and not session.prompts:
        reason = f"Waiting for a free slot: {facts.turns_at_work} turns are running"
        new_events.append(events.message_state(row.input_id, v1.MESSAGE_STATE_ACCEPTED, reason))
    changes: list[Change] = [AddInput(row), *facts.blobs]
    if facts.binding.failure:  # the session failed: the message tries it again
        changes.append(SaveBinding(row.session, replace(facts.binding, failure="")))
    status = session.state.status if waits else turn_opened(session.state.status)
    return Decision(tuple(new_events), tuple(changes), {"status": status}, (AllowStart(), RetryNow(), Advance()))
