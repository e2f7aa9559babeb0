"""Scripts that read the prompts with SQL: the queries of the specification, on the database of a real daemon."""

import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from betcode.v1 import agent_pb2 as v1
from integration.storage.test_ledger import SEED_COLUMNS
from support.daemon.clock import DAY_S, HOUR_S, timed_daemon
from support.daemon.session import is_idle

pytestmark = pytest.mark.anyio

OPERATIONS = Path(__file__).parents[2] / "docs" / "operations.md"
# As the specification has them.
ONE_HOUR = """
SELECT request_id, session_id, tool_name, tool_description
FROM pending_permissions
WHERE response_received = 0
  AND reminder_1h_sent = 0
  AND received_at < :now - 3600;  -- Older than 1 hour
"""
ONE_DAY = """
SELECT request_id, session_id, tool_name, tool_description
FROM pending_permissions
WHERE response_received = 0
  AND reminder_24h_sent = 0
  AND received_at < :now - 86400;  -- Older than 24 hours
"""


def documented_view() -> str:
    """The statement that the manual tells scripts to begin with."""
    (found,) = re.findall(r"^CREATE TEMP VIEW pending_permissions.*;$", OPERATIONS.read_text(), re.MULTILINE)
    return str(found)


async def test_the_reminder_queries_of_the_specification_find_what_is_due(tmp_path: Path) -> None:
    async with timed_daemon(tmp_path) as timed:
        talk, other = await timed.talk(), await timed.talk()
        open_one, answered = await timed.asked(talk), await timed.asked(other)
        await timed.client.answer_permission(answered.request_id, v1.ALLOW_ONCE)
        await other.until(is_idle)
        asked_s = open_one.asked_at.seconds
        with closing(sqlite3.connect(f"file:{timed.daemon.paths.database}?mode=ro", uri=True)) as db:
            db.execute(documented_view())

            def due(query: str, now: int) -> list[tuple[str, ...]]:
                return list(db.execute(query, {"now": now}))

            row = (open_one.request_id, talk.session_id, "Bash", "a mark")
            assert due(ONE_HOUR, asked_s + HOUR_S - 10) == due(ONE_DAY, asked_s + DAY_S - 10) == []
            assert due(ONE_HOUR, asked_s + HOUR_S + 10) == [row]
            assert due(ONE_DAY, asked_s + DAY_S + 10) == [row]
            columns = [each[0] for each in db.execute("SELECT * FROM pending_permissions").description]
            assert set(columns) == SEED_COLUMNS
            times = "SELECT expires_at - received_at, response_at, last_extended_at FROM pending_permissions"
            assert list(db.execute(f"{times} WHERE response_received = 0")) == [(7 * DAY_S, None, None)]
            answer = "SELECT response_decision, response_at - received_at < 600 FROM pending_permissions"
            assert list(db.execute(f"{answer} WHERE response_received = 1")) == [("allow_once", 1)]
