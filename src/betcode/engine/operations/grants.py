"""Grants: allow rules that people add for the rest of a session, checked after all other rules."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from betcode.domain.errors import InvalidRequest
from betcode.domain.permissions.audit import AuditEntry, AuditKind, DecidedBy
from betcode.domain.store.changes import AddAudit, AddGrant, Change, ClearGrant
from betcode.domain.store.rows import GrantRow
from betcode.domain.values.identifiers import SessionId
from betcode.engine.client_name import ClientName
from betcode.engine.core import events
from betcode.engine.core.decision import Decision
from betcode.engine.core.state import with_grant
from betcode.rules import (
    FOR_PEOPLE,
    Action,
    Grants,
    Layer,
    PathContext,
    Rule,
    RuleProblem,
    Source,
    parse_rule,
)
from betcode.util.wall_clock import now_ns
from betcode.v1 import agent_pb2 as v1

if TYPE_CHECKING:
    from betcode.engine.core.state import Session
    from betcode.engine.registry import Registry
    from betcode.engine.shell.session import LiveSession

_SESSION = Source(Layer.SESSION)
MOST = 1000  # of one session


def compiled(rows: Iterable[GrantRow], place: PathContext) -> Grants:
    """The grants made ready to be asked; one that a later version cannot read any more grants nothing."""
    found = (
        parse_rule(row.pattern or row.tool_name, Action.GRANT if row.allows else Action.DENY, _SESSION) for row in rows
    )
    return Grants((rule for rule in found if isinstance(rule, Rule)), place)


def grant_changes(session: LiveSession, rule: Rule, client: ClientName, request_id: str = "") -> tuple[Change, ...]:
    """What is stored of a grant; given again, it is there once.

    Raises:
        InvalidRequest: there are too many.
    """
    row = GrantRow(
        session=session.writer.key,
        tool_name=rule.tool,
        pattern=rule.text,
        allows=rule.action is Action.GRANT,
        created_ns=now_ns(),
        granted_by=client.client_id,
        request_id=request_id,
    )
    if len(with_grant(session.grants, row)) > MOST:
        raise InvalidRequest(f"The session has {MOST} grants already: clear some first, or allow this call once")
    outcome = "granted" if row.allows else "refused"
    entry = _entry(session, row.tool_name, outcome, client, rule=row.pattern, request_id=request_id)
    return ClearGrant(row.session, row.tool_name, row.pattern), AddGrant(row), AddAudit(entry)


@dataclass(frozen=True, slots=True)
class GrantService:
    """Where a session's grants are looked at and changed without a prompt."""

    _registry: Registry

    async def listed(self, session: SessionId) -> tuple[GrantRow, ...]:
        """Raises SessionNotFound."""
        async with self._registry.using(session) as live:
            return live.grants

    async def add(self, session: SessionId, tool_name: str, pattern: str, client: ClientName, *, allows: bool) -> None:
        """Grant a rule for the rest of the session, or refuse what it speaks of.

        Raises:
            InvalidRequest, SessionNotFound, SessionClosed, StorageDegraded
        """
        rule = _rule(tool_name, pattern, allows=allows)
        words = "granted" if allows else "refused"
        async with self._registry.using(session) as live:

            def decide(_: Session) -> Decision:
                live.refuse_if_closed()
                message = f"{rule.text} is {words} for this session"
                told = _notice(message, pattern=rule.text, client_id=client.client_id)
                return Decision((told,), grant_changes(live, rule, client))

            await live.perform(decide)

    async def clear(self, session: SessionId, tool_name: str, pattern: str, client: ClientName) -> int:
        """Forget the grants of a tool, one of them, or all; how many there were.

        Raises:
            SessionNotFound, StorageDegraded
        """
        async with self._registry.using(session) as live, live.changing():
            gone = [row for row in live.grants if _is_named(row, tool_name, pattern)]
            if not gone:
                return 0
            changes: list[Change] = []
            for row in gone:
                entry = _entry(live, row.tool_name, "cleared", client, rule=row.pattern)
                changes += [ClearGrant(row.session, row.tool_name, row.pattern), AddAudit(entry)]
            names = ", ".join(row.pattern for row in gone[:10]) + (" and more" if len(gone) > 10 else "")
            told = _notice(f"No longer granted or refused: {names}", client_id=client.client_id)
            await live.perform_locked(Decision((told,) if not live.is_closed else (), tuple(changes)))
            return len(gone)


def _is_named(row: GrantRow, tool_name: str, pattern: str) -> bool:
    return (not tool_name or row.tool_name == tool_name) and (not pattern or row.pattern == pattern)


def _rule(tool_name: str, pattern: str, *, allows: bool) -> Rule:
    text = pattern or tool_name
    if not text:
        raise InvalidRequest("No grant is named: give a tool_name or a pattern")
    rule = parse_rule(text, Action.GRANT if allows else Action.DENY, _SESSION)
    if isinstance(rule, RuleProblem):
        raise InvalidRequest(f"{rule.text[:200]} is not a rule: {rule.reason}")
    if tool_name and rule.tool != tool_name:
        raise InvalidRequest(f"{rule.text[:200]} is not about {tool_name[:200]}: give only one of them")
    if rule.tool in FOR_PEOPLE:
        raise InvalidRequest(f"{rule.tool} can only be answered by a person")
    return rule


def _entry(
    session: LiveSession, tool_name: str, outcome: str, client: ClientName, *, rule: str, request_id: str = ""
) -> AuditEntry:
    return AuditEntry(
        at_ns=now_ns(),
        session_id=session.session_id,
        request_id=request_id,
        tool_name=tool_name,
        input_sha256="",
        what=AuditKind.GRANT,
        outcome=outcome,
        decided_by=DecidedBy.PERSON,
        rule=rule,
        client=client.client_id,
        peer=client.peer,
    )


def _notice(message: str, **details: str) -> v1.AgentEvent:
    return events.notice(v1.NOTICE_KIND_GRANT, message, **details)
