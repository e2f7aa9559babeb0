"""Fork a session at a turn: copy its history and branch its agent's conversation."""

from __future__ import annotations

import logging
import re
from contextlib import aclosing
from dataclasses import dataclass, field, replace

from betcode.domain.errors import AgentUnavailable, ForkRefused, SequenceOutOfRange, SessionNotFound
from betcode.domain.sessions.budget import set_to
from betcode.domain.sessions.phase import Phase, Transition
from betcode.domain.sessions.status import SessionStatus
from betcode.domain.sessions.transcript import TranscriptEnd
from betcode.domain.store.rows import ForkedPart, SessionRow, SessionState, StoredEvent
from betcode.domain.values.identifiers import Seq, SessionId, new_session_id
from betcode.engine.core import events
from betcode.engine.core.counters import KIND_OF, SessionCounters
from betcode.engine.follow.session_reader import SessionReader
from betcode.engine.operations.compact import compacted_after
from betcode.engine.registry import Registry
from betcode.engine.validation import NAME_CHARACTERS, check_name
from betcode.util.wall_clock import now_ns
from betcode.v1 import agent_pb2 as v1

logger = logging.getLogger(__name__)

_MARKS = re.compile(r"```\w*|^#+ |\*\*|`|\|", re.MULTILINE)  # of Markdown, which say nothing in a name
_NAMED_AFTER = 60  # characters of the last message, where the session has no name
_OPEN_STATES = (v1.MESSAGE_STATE_ACCEPTED, v1.MESSAGE_STATE_DELIVERED)
_SUFFIX = " (fork)"


@dataclass(frozen=True, slots=True)
class ForkResult:
    session_id: SessionId
    at: Seq  # the newest event that both have


async def fork(registry: Registry, session: SessionId, at: Seq, name: str) -> ForkResult:
    """A new session that begins with this one's history to the last turn that ended at `at` or before (0: now).

    Raises:
        SessionNotFound, SequenceOutOfRange, InvalidRequest, AgentUnavailable
        ForkRefused: its agent cannot be forked there.
    """
    check_name(name)
    row = await registry.row(session)
    if at > row.state.last_seq:
        raise SequenceOutOfRange(session, at, row.state.last_seq)
    provider = registry.context.providers.get(row.new.provider)
    if provider is None:
        raise AgentUnavailable(f"The provider {row.new.provider!r} of this session is not known here")
    if not provider.capabilities_for(row.new).fork:
        raise ForkRefused(f"The agent {row.new.provider!r} cannot be forked: start a new session", session_id=session)
    end = await _turn_end(registry, row, at or row.state.last_seq)
    await _refuse_before_compaction(registry, row, Seq(end.sequence))
    part = await _read_part(registry, row, Seq(end.sequence))
    new = replace(
        row.new,
        session_id=new_session_id(),
        created_ns=now_ns(),
        forked_from=session,
        forked_at=Seq(end.sequence),
        fork_point=end.turn_complete.fork_point,
    )
    state, stored = _own_beginning(registry, row, replace(row, new=new), part, name)
    forked = ForkedPart(stored, frozenset(part.messages))
    if not await registry.context.store.fork_session(row.key, new, state, forked):
        raise SessionNotFound(session)
    registry.context.phases.tell(Transition(new.session_id, None, Phase.RUNNING, f"forked from {session}", now_ns()))
    logger.info("a session was forked", extra={"session_id": new.session_id, "forked_from": session})
    return ForkResult(new.session_id, new.forked_at)


@dataclass(slots=True)
class _Part:
    """What the copied history says at its end."""

    tally: SessionCounters
    messages: dict[str, None] = field(default_factory=dict)  # accepted, and not answered by a turn of it
    prompts: dict[str, None] = field(default_factory=dict)  # asked and not resolved

    def take(self, event: v1.AgentEvent) -> None:
        self.tally.number_as(event)
        match event.WhichOneof("event"):
            case "user_input":
                self.messages[event.user_input.message_id] = None
            case "message_state" if event.message_state.state not in _OPEN_STATES:
                self.messages.pop(event.message_state.message_id, None)
            case "permission_request":
                self.prompts[event.permission_request.request_id] = None
            case "user_question":
                self.prompts[event.user_question.group_id] = None
            case "permission_resolved":
                self.prompts.pop(event.permission_resolved.request_id, None)
            case _:
                pass


async def _turn_end(registry: Registry, row: SessionRow, at: Seq) -> v1.AgentEvent:
    """The last turn that ended there or before and that its agent can be forked after."""
    until = at
    while until > 0:
        data = await registry.context.store.newest_of_kind(row.key, KIND_OF["turn_complete"], until)
        if data is None:
            break
        event = v1.AgentEvent.FromString(data)
        if event.turn_complete.fork_point:
            return event
        until = Seq(event.sequence - 1)  # it broke off, or was stopped before its agent knew of it
    raise ForkRefused(
        f"No turn that can be forked ended at or before event {at}: give a later event, or start a new session",
        session_id=row.new.session_id,
    )


async def _refuse_before_compaction(registry: Registry, row: SessionRow, at: Seq) -> None:
    if compacted_at := await compacted_after(registry.context.store, row.key, at):
        raise ForkRefused(
            f"The conversation was compacted at {compacted_at}, so it cannot be forked before that: fork a later turn",
            session_id=row.new.session_id,
            compacted_at=str(compacted_at),
        )


async def _read_part(registry: Registry, row: SessionRow, at: Seq) -> _Part:
    part = _Part(SessionCounters(SessionState()))
    async with aclosing(SessionReader(registry).history(row.new.session_id)) as batches:
        async for batch in batches:
            for data in batch.events:
                event = v1.AgentEvent.FromString(data)
                if event.sequence > at:
                    return part
                part.take(event)
    return part


def _own_beginning(
    registry: Registry, source: SessionRow, fork_row: SessionRow, part: _Part, name: str
) -> tuple[SessionState, tuple[StoredEvent, ...]]:
    """What it is and says first: where it comes from, and what of the copied part is not open here."""
    new, at = fork_row.new, fork_row.new.forked_at
    said = [
        events.message_state(message, v1.MESSAGE_STATE_CANCELLED, "not answered in the part that was forked")
        for message in part.messages
    ]
    said += [
        events.resolved(request, "withdrawn", message="asked by the agent of the session this was forked from")
        for request in part.prompts
    ]
    message = f"Forked from session {source.new.session_id} after event {at}"
    details = {"forked_from": source.new.session_id, "at_sequence": str(at)}
    said.append(events.notice(v1.NOTICE_KIND_FORK, message, **details))
    counted = part.tally.state(now_ns())
    beginning = SessionState(
        status=SessionStatus.IDLE,
        last_seq=at,
        epoch=registry.context.store.epoch,
        name=name or name_after(source.state),
        model=counted.model,
        message_count=counted.message_count,
        context_percent=counted.context_percent,
        preview=counted.preview,
        compaction_sequence=counted.compaction_sequence,
        context_tokens=counted.context_tokens,
        landmarks=counted.landmarks,
        transcript=TranscriptEnd.ABANDONED,  # until a turn has finished here, a continued turn would be the source's
        budget=set_to(source.state.budget.step, source.state.budget.on_reached),
    )
    said.append(events.session_info(new, beginning, is_resumed=False))
    said.append(events.status(v1.IDLE))
    tally = SessionCounters(beginning)
    stored = []
    at_ns = now_ns()
    for event in said:
        kind = tally.number(events.stamp(event, at_ns))
        stored.append(StoredEvent(Seq(event.sequence), kind, event.SerializeToString()))
    return tally.state(at_ns), tuple(stored)


def name_after(source: SessionState) -> str:
    """What a fork is called that was given no name: after its source, or what was said last there."""
    called = source.name or " ".join(_MARKS.sub(" ", source.preview).split())[:_NAMED_AFTER]
    shown = "".join(letter for letter in called if letter.isprintable()).strip()
    return (shown[: NAME_CHARACTERS - len(_SUFFIX)].rstrip() + _SUFFIX).strip()
