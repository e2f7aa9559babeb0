"""Record calls that an agent denied itself, by its own rules or the ones passed to it; read from tool results."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from betcode.domain.agents.denials import DISABLED
from betcode.domain.bounded_io import FilesystemTimeout
from betcode.domain.errors import StorageDegraded, StorageFailed
from betcode.domain.permissions.audit import AuditEntry, AuditKind, DecidedBy, input_hash
from betcode.domain.values.identifiers import Seq
from betcode.domain.values.text import shortened
from betcode.engine.core import events
from betcode.engine.core.counters import KIND_OF
from betcode.rules import FOR_PEOPLE
from betcode.util.wall_clock import now_ns
from betcode.v1 import agent_pb2 as v1

if TYPE_CHECKING:
    from betcode.engine.shell.session import LiveSession

logger = logging.getLogger(__name__)

_KIND = KIND_OF["tool_call_start"]
_WINDOW = 2000  # events: an agent that denies does so at once
_INPUT = "tool_call_start.input_json"
_LONGEST = 500
_LONGEST_RULE = 2_000
_TAKEN_AWAY = (
    "The agent could not ask: Claude Code itself removes the tool because of `{}`. betcode never denies it by rule; "
    "remove the rule from that file to be asked"
)
_BY_ITSELF = "by the agent itself: {}"


async def denied_by_agent(
    session: LiveSession, said: Iterable[v1.AgentEvent]
) -> tuple[list[AuditEntry], list[v1.AgentEvent]]:
    """The audit entries for these events; each names our rule where one denies the same.

    A use of a tool that the agent does not offer is marked as denied where a rule of ours denies it, or one in a file
    that the agent reads by itself removes the tool. A notice tells of a removed tool that only people answer.
    """
    said = list(said)
    entries: list[AuditEntry] = []
    notices: list[v1.AgentEvent] = []
    for event in said:
        result = event.tool_call_result
        if result.denied_by not in ("agent", DISABLED):
            continue
        started = await _start_of(session, said, result.tool_id)
        entry = await _entry(session, started, result)
        if result.denied_by == DISABLED:
            rule = session.screening.book.removal(entry.tool_name)
            if rule is not None:
                entry = replace(entry, rule=shortened(str(rule), _LONGEST_RULE))
            result.denied_by = "agent" if entry.rule else ""  # without a rule the agent just does not have the tool
            if rule is not None and entry.tool_name in FOR_PEOPLE:
                notices.append(events.notice(v1.NOTICE_KIND_AGENT, _TAKEN_AWAY.format(rule), level="warning"))
        if result.denied_by:
            entries.append(entry)
    return entries, notices


async def _start_of(session: LiveSession, said: Iterable[v1.AgentEvent], tool_id: str) -> v1.AgentEvent:
    for event in said:
        if event.tool_call_start.tool_id == tool_id:
            return event
    last = session.writer.state.last_seq
    try:
        stored = await session.context.store.events_of_kind(
            session.writer.key, _KIND, Seq(max(last - _WINDOW, 0)), last
        )
    except (StorageDegraded, StorageFailed):
        logger.exception("the agent's own denials could not be read", extra=session.log_extra)
        return v1.AgentEvent()
    for data in reversed(stored):
        event = v1.AgentEvent.FromString(data)
        if event.tool_call_start.tool_id == tool_id:
            return event
    return v1.AgentEvent()


async def _entry(session: LiveSession, started: v1.AgentEvent, result: v1.ToolCallResult) -> AuditEntry:
    use = started.tool_call_start
    cut = next((cut.sha256 for cut in started.cuts if cut.field == _INPUT), "")
    try:
        rule = "" if cut or not use.tool_name else await session.screening.denial(use.tool_name, use.input_json)
    except FilesystemTimeout:
        rule = ""
    return AuditEntry(
        at_ns=now_ns(),
        session_id=session.session_id,
        request_id=result.tool_id,
        tool_name=use.tool_name,
        input_sha256=cut or input_hash(use.input_json),
        what=AuditKind.DECISION,
        outcome="deny",
        decided_by=DecidedBy.RULE,
        rule=rule,
        note=_BY_ITSELF.format(shortened(result.output, _LONGEST)),
    )
