"""Records of a person's decision: the answered prompt and an audit entry."""

from __future__ import annotations

from dataclasses import replace

from betcode.domain.permissions.audit import AuditEntry, AuditKind, DecidedBy, input_hash
from betcode.domain.store.changes import AddAudit
from betcode.domain.store.rows import PromptRow, PromptState
from betcode.domain.values.identifiers import SessionId
from betcode.engine.client_name import ClientName
from betcode.engine.core.decision_types import Decision


def with_decider(prompt: PromptRow, client: ClientName, now_ns: int) -> PromptRow:
    """Return the prompt with the client that answered it (or part of it) and the time."""
    return replace(prompt, answered_by=client.client_id, answered_by_type=client.client_type, answered_ns=now_ns)


def decision_changes(
    session: SessionId, prompt: PromptRow, decision: Decision, client: ClientName, now_ns: int
) -> tuple[PromptRow, AddAudit]:
    """Return the answered prompt and the audit entry of the decision."""
    answered = replace(
        with_decider(prompt, client, now_ns),
        state=PromptState.ANSWERED,
        decision=decision.name,
        answers=decision.answers,
        idempotency_key=decision.idempotency_key,
        message=decision.message,
        updated_input=decision.updated_input,
        grant_pattern=decision.grant_pattern,
    )
    return answered, AddAudit(_entry(session, prompt, decision, client, now_ns))


def _entry(session: SessionId, prompt: PromptRow, decision: Decision, client: ClientName, now_ns: int) -> AuditEntry:
    edited = f", run with other input, sha256 {input_hash(decision.updated_input)}" if decision.updated_input else ""
    return AuditEntry(
        at_ns=now_ns,
        session_id=session,
        request_id=prompt.request_id,
        tool_name=prompt.tool_name,
        input_sha256=input_hash(prompt.input_json),
        what=AuditKind.DECISION,
        outcome="allow" if decision.allows else "deny",
        decided_by=DecidedBy.POLICY if decision.by_policy else DecidedBy.PERSON,
        client=client.client_id,
        peer=client.peer,
        note=decision.name + edited,
    )
