"""Settings files with permission rules, and what the audit kept of decisions by them."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import apsw

from support.daemon.process import Daemon


def write_rules(
    path: Path, *, allow: Sequence[str] = (), ask: Sequence[str] = (), deny: Sequence[str] = (), **more: object
) -> None:
    """A settings file with these lists."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lists = {"allow": list(allow), "ask": list(ask), "deny": list(deny)}
    path.write_text(json.dumps({"permissions": {**lists, **more}}))


def user_rules(daemon: Daemon) -> Path:
    return daemon.paths.config_dir / "settings.json"


def project_rules(daemon: Daemon) -> Path:
    return daemon.work / ".claude" / "settings.json"


@dataclass(frozen=True, slots=True)
class Kept:
    """One decision in the audit."""

    what: str
    tool: str
    outcome: str
    by: str
    rule: str
    note: str
    input_sha256: str
    client: str


def decisions(daemon: Daemon) -> list[Kept]:
    """All of them, oldest first."""
    with apsw.Connection(str(daemon.paths.database), flags=apsw.SQLITE_OPEN_READONLY) as db:
        rows = db.execute(
            "SELECT what, tool_name, outcome, decided_by, rule, note, input_sha256, client FROM audit ORDER BY number"
        ).fetchall()
    return [Kept(*(str(value) for value in row)) for row in rows]
