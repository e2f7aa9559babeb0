"""Who is connected and who may type, as rows: there while a daemon runs, forgotten by the next."""

import json
from pathlib import Path

import apsw
import pytest

from betcode.client import open_client
from support.daemon.lock_clients import typist
from support.daemon.process import Daemon, becomes_true, obedient_daemon
from support.providers.claude_world import obedient_talk

pytestmark = pytest.mark.anyio


def rows(daemon: Daemon, question: str) -> list[tuple[object, ...]]:
    db = apsw.Connection(str(daemon.paths.database))
    try:
        db.set_busy_timeout(5000)
        return list(db.execute(question))
    finally:
        db.close()


def connected(daemon: Daemon) -> list[tuple[object, ...]]:
    return rows(daemon, "SELECT client_id, client_type FROM connected_clients ORDER BY client_id")


def lock_column(daemon: Daemon) -> list[tuple[object, ...]]:
    return rows(daemon, "SELECT input_lock_client FROM sessions")


@pytest.mark.behaviour("storage.connected-clients", "storage.sessions.lock-column")
async def test_clients_and_the_lock_are_rows_while_they_last(tmp_path: Path) -> None:
    async with obedient_daemon(tmp_path) as daemon, open_client(daemon.paths) as client:
        session = (await obedient_talk(daemon, client)).session_id
        assert (connected(daemon), lock_column(daemon)) == ([], [(None,)])
        async with typist(daemon, session, "ann", "phone") as ann:
            async with typist(daemon, session, "ben", "web"):
                await becomes_true(lambda: connected(daemon) == [("ann", "phone"), ("ben", "web")])
                await ann.say("say hello")
                await becomes_true(lambda: lock_column(daemon) == [("ann",)])
            await becomes_true(lambda: connected(daemon) == [("ann", "phone")])
            await ann.say("say more")  # what is written of the session itself leaves the lock alone
            assert lock_column(daemon) == [("ann",)]
        await becomes_true(lambda: connected(daemon) == [] and lock_column(daemon) == [(None,)])


async def test_a_deleted_session_leaves_no_client_behind(tmp_path: Path) -> None:
    async with obedient_daemon(tmp_path) as daemon, open_client(daemon.paths) as client:
        session = (await obedient_talk(daemon, client)).session_id
        async with typist(daemon, session, "ann"):
            await becomes_true(lambda: len(connected(daemon)) == 1)
            await client.delete(session)
            await becomes_true(lambda: connected(daemon) == [] and rows(daemon, "SELECT key FROM sessions") == [])


@pytest.mark.behaviour("reconcile.clients", "reconcile.locks")
async def test_the_next_daemon_removes_all_connections_and_reports_it(tmp_path: Path) -> None:
    async with obedient_daemon(tmp_path) as daemon, open_client(daemon.paths) as client:
        session = (await obedient_talk(daemon, client)).session_id
        async with typist(daemon, session, "ann") as ann, typist(daemon, session, "ben") as ben:
            await ann.say("say hello")
            await becomes_true(lambda: len(connected(daemon)) == 2 and lock_column(daemon) == [("ann",)])
            daemon.kill()
            # As it would be had the daemon known clients that never come again.
            rows(daemon, "INSERT INTO connected_clients SELECT NULL, key, 'gone', '', 1 FROM sessions RETURNING key")
            await daemon.start()
            metadata = (await client.health()).metadata
            assert (metadata["found_at_start_clients"], metadata["found_at_start_locks"]) == ("3", "1")
            told = [json.loads(line)["message"] for line in daemon.log.splitlines() if "input locks" in line]
            assert "forgot 3 clients and 1 input locks" in told[-1]
            # Who comes again has its place, and the lock is the first one's who sends.
            await ben.holds("")
            await ben.say("say mine now")
            await ann.holds("ben")
            await becomes_true(
                lambda: lock_column(daemon) == [("ben",)] and [name for name, _ in connected(daemon)] == ["ann", "ben"]
            )
