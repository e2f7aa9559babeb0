"""The audit: rows that are only added to, each bound to the one before by a hash."""

import hashlib
import json
from collections.abc import Iterable, Sequence
from typing import Any

import apsw

from betcode.domain.audit import Audited, AuditEntry, AuditRow, DecidedBy

_LAST = "SELECT number, hash FROM audit ORDER BY number DESC LIMIT 1"
_ADD = """
INSERT INTO audit (number, at_ns, session_id, request_id, tool_name, input_sha256, what, outcome, decided_by, rule,
    client, peer, note, hash)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_READ = """
SELECT number, at_ns, session_id, request_id, tool_name, input_sha256, what, outcome, decided_by, rule, client, peer,
    note, hash
FROM audit WHERE number > ? AND (? = '' OR session_id = ?) ORDER BY number LIMIT ?
"""
FIRST_HASH = bytes(32)


def add(db: apsw.Connection, entry: AuditEntry) -> None:
    """One row behind the last; the writer's transaction makes number and hash its own."""
    last = db.execute(_LAST).fetchone()
    number, before = (last[0] + 1, last[1]) if last else (1, FIRST_HASH)
    db.execute(_ADD, (number, *_values(entry), hash_of(number, entry, before)))


def read(db: apsw.Connection, after: int, session_id: str, limit: int) -> list[AuditRow]:
    """Rows in order, at most `limit`, of one session or of all."""
    return [_row(row) for row in db.execute(_READ, (after, session_id, session_id, limit))]


def first_broken(rows: Iterable[AuditRow], before: bytes = FIRST_HASH) -> AuditRow | None:
    """The first row that is not what was written, or that does not follow the one before; None where all are whole."""
    expected = 1
    for row in rows:
        if row.number != expected or row.hash != hash_of(row.number, row.entry, before):
            return row
        expected, before = expected + 1, row.hash
    return None


def hash_of(number: int, entry: AuditEntry, before: bytes) -> bytes:
    text = json.dumps([number, *_values(entry)], ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(before + text.encode("utf-8", "surrogatepass")).digest()


def _values(entry: AuditEntry) -> tuple[int | str, ...]:
    about = (entry.session_id, entry.request_id, entry.tool_name, entry.input_sha256)
    decision = (entry.what.value, entry.outcome, entry.decided_by.value, entry.rule, entry.client, entry.peer)
    return (entry.at_ns, *about, *decision, entry.note)


def _row(row: Sequence[Any]) -> AuditRow:
    number, at_ns, session, request, tool, sha256, what, outcome, decided_by, rule, client, peer, note, digest = row
    decision = (Audited(what), outcome, DecidedBy(decided_by), rule, client, peer, note)
    return AuditRow(number, AuditEntry(at_ns, session, request, tool, sha256, *decision), digest)
