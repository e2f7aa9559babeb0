"""SQL of the reports of other programs."""

from collections.abc import Sequence
from typing import Any, TypeVar

import apsw

from betcode.domain.obey.activities import PushedActivity
from betcode.domain.obey.campaign_events import CampaignEvent
from betcode.storage.sqlite.access import DatabaseAccess

T = TypeVar("T")

_EVENT = "event_id, campaign_id, event_type, payload, at_ns, received_ns, festival_id, task_id"
_KEEP_EVENT = f"INSERT OR IGNORE INTO reported_events ({_EVENT}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
_ACTIVITY = """session_id, event_type, content, tool_name, tool_call_id, tool_arguments, tool_output, tool_success,
    at_ns, received_ns"""
_KEEP_ACTIVITY = f"INSERT INTO agent_activities ({_ACTIVITY}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_FORGOTTEN_AT_ONCE = 5_000


class SqliteReports:
    """Behind `betcode.domain.obey.activities.ReportStore`."""

    def __init__(self, database: DatabaseAccess) -> None:
        self._read = database.read
        self._write = database.write

    async def keep_campaign_event(self, event: CampaignEvent) -> None:
        values = (event.event_id, event.campaign_id, event.event_type, event.payload, event.at_ns, event.received_ns)

        def keep(db: apsw.Connection) -> None:
            db.execute(_KEEP_EVENT, (*values, event.festival_id, event.task_id))

        await self._write(keep)

    async def campaign_events(self, campaign_id: str = "", *, limit: int = 1000) -> Sequence[CampaignEvent]:
        """The newest of one campaign, or of all, in the order in which they were received."""
        where, values = ("WHERE campaign_id = ?", (campaign_id,)) if campaign_id else ("", ())
        question = f"SELECT {_EVENT} FROM reported_events {where} ORDER BY key DESC LIMIT ?"
        rows = await self._read(lambda db: db.execute(question, (*values, limit)).fetchall())
        return [CampaignEvent(*row) for row in reversed(rows)]

    async def keep_activities(self, activities: Sequence[PushedActivity]) -> int:
        def keep(db: apsw.Connection) -> int:
            for each in activities:
                db.execute(_KEEP_ACTIVITY, _values(each))
            return db.last_insert_rowid()

        return await self._write(keep) if activities else await self.newest_activity()

    async def newest_activity(self) -> int:
        return int(await self._read(lambda db: db.execute("SELECT coalesce(max(key), 0) FROM agent_activities").get))

    async def activities_after(self, number: int, limit: int) -> Sequence[tuple[int, PushedActivity]]:
        question = f"SELECT key, {_ACTIVITY} FROM agent_activities WHERE key > ? ORDER BY key LIMIT ?"
        rows: list[Any] = await self._read(lambda db: db.execute(question, (number, limit)).fetchall())
        return [(row[0], _activity(row[1:])) for row in rows]

    async def forget_reports(self, events_before_ns: int, activities_before_ns: int) -> int:
        tables = (("reported_events", events_before_ns), ("agent_activities", activities_before_ns))

        def has_old(db: apsw.Connection) -> bool:
            found = (db.execute(f"SELECT 1 FROM {table} WHERE received_ns < ? LIMIT 1", (ns,)) for table, ns in tables)
            return any(rows.fetchall() for rows in found)

        def forget(db: apsw.Connection) -> int:
            gone = 0
            for table, before_ns in tables:
                old = f"SELECT key FROM {table} WHERE received_ns < ? LIMIT ?"
                db.execute(f"DELETE FROM {table} WHERE key IN ({old})", (before_ns, _FORGOTTEN_AT_ONCE))
                gone += db.changes()
            return gone

        return await self._write(forget) if await self._read(has_old) else 0  # mostly there is nothing to write


def _activity(row: Sequence[Any]) -> PushedActivity:
    *before, success, at_ns, received_ns = row
    session_id, event_type, content, tool_name, tool_call_id, arguments, output = before
    reported = (session_id, event_type, content, tool_name, tool_call_id, arguments, output)
    return PushedActivity(*reported, bool(success), at_ns, received_ns)


def _values(each: PushedActivity) -> tuple[str | bytes | int, ...]:
    return (
        each.session_id,
        each.event_type,
        each.content,
        each.tool_name,
        each.tool_call_id,
        each.tool_arguments,
        each.tool_output,
        each.tool_success,
        each.at_ns,
        each.received_ns,
    )
