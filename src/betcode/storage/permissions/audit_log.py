"""The audit log: rows are only appended, each bound to the one before by a hash."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import apsw

from betcode.domain.errors import DatabaseUnusable
from betcode.domain.permissions.audit import (
    FIRST_HASH,
    AuditEntry,
    AuditFilter,
    AuditHead,
    AuditKind,
    AuditRow,
    AuditVerification,
    DecidedBy,
)
from betcode.storage.sqlite.database import connect_to_look, unusable

_LAST = "SELECT number, hash FROM audit ORDER BY number DESC LIMIT 1"
_ADD = """
INSERT INTO audit (number, at_ns, session_id, request_id, tool_name, input_sha256, what, outcome, decided_by, rule,
    client, peer, note, hash)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_COLUMNS = """number, at_ns, session_id, request_id, tool_name, input_sha256, what, outcome, decided_by, rule, client,
    peer, note, hash"""
# Somebody may have written text into the file that is none: as bytes it can be read all the same.
_AS_BYTES = ", ".join(
    name if name in ("number", "at_ns", "hash") else f"CAST({name} AS BLOB)"
    for name in (part.strip() for part in _COLUMNS.split(","))
)
_PEER = """
SELECT CAST(peer AS BLOB) FROM audit
WHERE session_id = ? AND request_id = ? AND what = 'decision' AND decided_by IN ('person', 'policy')
ORDER BY number DESC LIMIT 1
"""
_NEXT = "SELECT {columns} FROM audit WHERE number > ? ORDER BY number LIMIT ?"
_LAST_UNTIL = "SELECT max(number) FROM audit WHERE at_ns < :until"
_FIRST_SINCE = "SELECT min(number) FROM audit WHERE at_ns >= :since"
# The plus keeps SQLite from taking the index of times here: it would have to sort what it finds by number.
_WANTED = "number > :after AND number <= :last AND +at_ns >= :since AND +at_ns < :until"
_OF_SESSION = " AND session_id = :session"
_NEWEST = """
SELECT min(number) FROM (SELECT number FROM audit WHERE {wanted} ORDER BY number DESC LIMIT :newest)
"""
_PAGE = "SELECT {{columns}} FROM audit WHERE {wanted} ORDER BY number LIMIT :limit"
_BEFORE_ALL = -(2**63)


def add(db: apsw.Connection, entry: AuditEntry) -> None:
    """Add a row after the last one; the writer's transaction makes its number and hash unique."""
    last = db.execute(_LAST).fetchone()
    number, before = (last[0] + 1, last[1]) if last else (1, FIRST_HASH)
    db.execute(_ADD, (number, *_values(entry), hash_of(number, entry, before)))


def peer_of_answer(db: apsw.Connection, session_id: str, request_id: str) -> str:
    """Where a person's answer came from; empty: not known."""
    row = db.execute(_PEER, (session_id, request_id)).fetchone()
    return "" if row is None else _shown(row[0])


def page(db: apsw.Connection, which: AuditFilter, after: int | None, limit: int) -> list[AuditRow]:
    """Matching rows after number `after`, in order; None: from the first."""
    wanted = _WANTED + (_OF_SESSION if which.session_id else "")
    values: dict[str, int | str] = {"since": which.since_ns, "until": which.until_ns, "session": which.session_id}
    # An index knows between which rows those of a time are; the others need not be looked at.
    first = _number(db, _FIRST_SINCE, values) if which.since_ns and after is None else _BEFORE_ALL + 1
    last = _number(db, _LAST_UNTIL, values) if which.until_ns < AuditFilter().until_ns else which.until_ns
    if first is None or last is None:
        return []
    values |= {"after": first - 1 if after is None else after, "last": last}
    if which.newest and after is None:
        newest = _number(db, _NEWEST.format(wanted=wanted), values | {"newest": which.newest})
        if newest is None:
            return []
        values["after"] = newest - 1
    return _rows(_fetched(db, _PAGE.format(wanted=wanted), values | {"limit": limit}))


def check(
    db: apsw.Connection, so_far: AuditVerification, limit: int, noted: AuditHead | None = None
) -> AuditVerification:
    """Compare up to `limit` more rows with their hashes. Rows after a broken one are not checked."""
    total, rows, head = so_far.total, so_far.rows, so_far.head
    if not total:
        total = _number(db, "SELECT count(*) FROM audit", {}) or 0

    def broken(number: int, why: str) -> AuditVerification:
        return AuditVerification(rows, total, head, True, number, f"row {number} {why}")

    found = _fetched(db, _NEXT, (rows or _BEFORE_ALL, limit))
    for number, *values, digest in found:
        if not isinstance(number, int):
            return broken(rows + 1, "has no number")
        if number > rows + 1:
            return broken(rows + 1, "is missing")
        if number < rows + 1:
            return broken(number, "is numbered before the first row")
        is_written = isinstance(values[0], int) and all(isinstance(value, str) for value in values[1:])
        if not is_written or digest != _digest([number, *values], head):
            return broken(number, "was changed, or is not chained to the row before")
        if noted is not None and noted.number == number and noted.hash != digest:
            return broken(number, "differs from the given head: the audit was rewritten")
        rows, head = number, digest
    complete = len(found) < limit
    if complete and noted is not None and noted.number > rows:
        return broken(rows + 1, f"and all rows up to the given head, {noted.number}, are missing")
    return AuditVerification(rows, max(total, rows), head, complete)


def check_file(path: Path, noted: AuditHead | None = None, limit: int = 5000) -> Iterator[AuditVerification]:
    """The same for the file itself, which is only read; the last one is the result.

    Raises:
        DatabaseUnusable: it cannot be read, or has no audit.
    """
    try:
        db = connect_to_look(path)
        try:
            checked = AuditVerification()
            while not checked.complete:
                checked = check(db, checked, limit, noted)
                yield checked
        finally:
            db.close()
    except apsw.SQLError as error:
        raise DatabaseUnusable(f"{path} has no audit: {error}") from error
    except (apsw.Error, OSError) as error:
        raise unusable(path, error) from error


def hash_of(number: int, entry: AuditEntry, before: bytes) -> bytes:
    return _digest([number, *_values(entry)], before)


def _digest(values: Sequence[int | str], before: bytes) -> bytes:
    text = json.dumps(values, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(before + text.encode("utf-8", "surrogatepass")).digest()


def _number(db: apsw.Connection, question: str, values: Mapping[str, int | str]) -> int | None:
    row: Any = db.execute(question, values).fetchone()
    return None if row is None else row[0]


def _values(entry: AuditEntry) -> tuple[int | str, ...]:
    about = (entry.session_id, entry.request_id, entry.tool_name, entry.input_sha256)
    decision = (entry.what.value, entry.outcome, entry.decided_by.value, entry.rule, entry.client, entry.peer)
    return (entry.at_ns, *about, *decision, entry.note)


def _fetched(db: apsw.Connection, question: str, values: Mapping[str, int | str] | Sequence[int | str]) -> list[Any]:
    """The rows. Bytes that are not text become lone surrogates, which no row was written with."""
    try:
        return db.execute(question.format(columns=_COLUMNS), values).fetchall()
    except UnicodeDecodeError:
        found: list[Any] = db.execute(question.format(columns=_AS_BYTES), values).fetchall()
    return [
        (number, at_ns, *(text.decode("utf-8", "surrogateescape") if text is not None else None for text in texts), end)
        for number, at_ns, *texts, end in found
    ]


def _rows(found: Iterable[Sequence[Any]]) -> list[AuditRow]:
    """As much of each as can be shown: whether it is as it was written, `check` tells."""
    return [_row(row) for row in found if isinstance(row[0], int)]


def _row(row: Sequence[Any]) -> AuditRow:
    number, at_ns, *texts, digest = row
    session, request, tool, sha256, what, outcome, decided_by, rule, client, peer, note = map(_shown, texts)
    decision = (AuditKind(what), outcome, DecidedBy(decided_by), rule, client, peer, note)
    moment_ns = at_ns if isinstance(at_ns, int) else 0
    entry = AuditEntry(moment_ns, session, request, tool, sha256, *decision)
    return AuditRow(number, entry, digest if isinstance(digest, bytes) else b"")


def _shown(value: object) -> str:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return "" if value is None else str(value).encode("utf-8", "replace").decode()
