"""Audit entries for processes that a holder refused, made from notes in its journal."""

from betcode.domain.permissions.audit import AuditEntry, AuditKind, DecidedBy
from betcode.domain.runs.journal_record import Record
from betcode.holder.protocol import REFUSED_NOTE

_LONGEST = 1000


def audit_of_refusal(session_id: str, note: Record) -> AuditEntry | None:
    """A process inside the agent's tree that came to the holder's socket; None: the note tells something else."""
    text = note.data.decode("utf-8", "replace")
    if not text.startswith(REFUSED_NOTE):
        return None
    return AuditEntry(
        at_ns=note.wall_ns,
        session_id=session_id,
        request_id="",
        tool_name="",
        input_sha256="",
        what=AuditKind.REFUSED_ANSWER,
        outcome="refused",
        decided_by=DecidedBy.GATE,
        peer=text.removeprefix(REFUSED_NOTE)[:_LONGEST],
        note="came to the holder's socket",
    )
