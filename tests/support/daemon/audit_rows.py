"""The audit as it is stored."""

from collections.abc import Mapping

import apsw

from support.daemon.process import Daemon

NAMES = ("session_id", "request_id", "what", "outcome", "decided_by", "client", "peer", "note")


def audit_rows(daemon: Daemon) -> list[Mapping[str, str]]:
    with apsw.Connection(str(daemon.paths.database), flags=apsw.SQLITE_OPEN_READONLY) as db:
        db.set_busy_timeout(10_000)
        rows = db.execute(f"SELECT {', '.join(NAMES)} FROM audit ORDER BY number").fetchall()
    return [dict(zip(NAMES, map(str, row), strict=True)) for row in rows]


def gate_rows(daemon: Daemon) -> list[Mapping[str, str]]:
    """The calls of agents' processes that the gate refused, or allowed and recorded."""
    return [row for row in audit_rows(daemon) if row["decided_by"] == "gate"]


def has_lineage(row: Mapping[str, str]) -> bool:
    """Whether it says which process called, and the processes that it descends from."""
    return "start time" in row["peer"] and " < " in row["peer"]
