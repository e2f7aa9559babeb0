"""A quick read-only check of a database that may be in use."""

import time
from dataclasses import dataclass
from pathlib import Path

import apsw

from betcode.storage.sqlite.database import connect_to_look, unusable

_STEPS = 10_000  # of SQLite's virtual machine, between two checks of the time
_LOCK_MS = 500


@dataclass(frozen=True, slots=True)
class ProbeResult:
    problems: tuple[str, ...]
    is_complete: bool  # False: the time was over before it was read
    newest_ns: int  # when the last change of any session was
    live_runs: frozenset[str]  # the runs whose agents are at work, as the rows say


def glance(path: Path, *, within_s: float) -> ProbeResult:
    """Raises DatabaseUnusable: it cannot be read at all."""
    db = connect_to_look(path, timeout_ms=_LOCK_MS)
    try:
        if not db.execute("SELECT 1 FROM sqlite_schema WHERE name = 'runs'").fetchone():
            return ProbeResult((), True, 0, frozenset())
        newest = db.execute("SELECT max(updated_ns) FROM sessions").fetchone()
        live = db.execute("SELECT run_id FROM runs WHERE state IN ('spawning', 'running')").fetchall()
        problems, is_complete = _quick_check(db, within_s)
        last: int = (newest and newest[0]) or 0
        return ProbeResult(problems, is_complete, last, frozenset(str(row[0]) for row in live))
    except (apsw.Error, OSError) as error:
        raise unusable(path, error) from error
    finally:
        db.close()


def _quick_check(db: apsw.Connection, within_s: float) -> tuple[tuple[str, ...], bool]:
    deadline = time.monotonic() + within_s
    db.set_progress_handler(lambda: time.monotonic() > deadline, _STEPS)
    try:
        return tuple(str(line) for (line,) in db.execute("PRAGMA quick_check(5)") if line != "ok"), True
    except apsw.InterruptError:
        return (), False
    finally:
        db.set_progress_handler(None)
