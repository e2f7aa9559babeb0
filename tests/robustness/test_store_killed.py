"""A process killed while it commits: what was acknowledged is there, each commit whole or not at all, no gap."""

import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import support.storage.opener_process
import support.storage.writer_process
from betcode.domain.store.store_ports import SessionFilter
from betcode.domain.values.identifiers import SessionId
from betcode.storage import SqliteStore, open_store
from support.paths import TESTS
from support.storage.rows import Fatal, all_events, ask

pytestmark = pytest.mark.anyio

CHILD = Path(support.storage.writer_process.__file__)
OPENER = Path(support.storage.opener_process.__file__)
ROUNDS = 8


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(TESTS)}


def acknowledged_by(path: Path, *, kill_after: int = 0, step: str = "", count: int = 0) -> dict[SessionId, int]:
    """Run the child until it is killed; the last number it said for each session."""
    argv = [sys.executable, str(CHILD), str(path), *((step, str(count)) if step else ())]
    said: dict[SessionId, int] = {}
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, env=environment()) as child:
        assert child.stdout is not None
        for number, line in enumerate(child.stdout, start=1):
            session, last = line.split()
            said[SessionId(session)] = int(last)
            if number == kill_after:
                child.kill()
    assert child.returncode == -signal.SIGKILL
    return said


async def look(store: SqliteStore, path: Path, acknowledged: dict[SessionId, int]) -> None:
    rows, _total = await store.list_sessions(SessionFilter(limit=1000))
    for row in rows:
        last = row.state.last_seq
        assert last >= acknowledged.get(row.new.session_id, 0)
        events = await all_events(store, row.key)
        assert [data.split(b" ", 2)[1] for data in events] == [b"%d" % n for n in range(1, last + 1)]
        run = await store.newest_run(row.key)
        assert (run.offset if run else 0) == last
        # Each commit had one input and one blob: no half of one is there.
        inputs = await store.open_inputs(row.key)
        assert len(inputs) == row.state.message_count
        blobs = ask(path, f"SELECT count(*), max(CAST(sha256 AS INTEGER)) FROM blobs WHERE session = {row.key}")
        assert blobs == [(row.state.message_count, last or None)]
    assert set(acknowledged) <= {row.new.session_id for row in rows}
    assert ask(path, "PRAGMA integrity_check") == [("ok",)]
    assert ask(path, "PRAGMA foreign_key_check") == []


@pytest.mark.behaviour("events.sequence.monotonic", "events.sequence.persisted")
async def test_kills_at_random_moments_lose_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    path, chance = tmp_path / "betcode.db", random.Random(20)
    acknowledged: dict[SessionId, int] = {}
    for _ in range(ROUNDS):
        acknowledged |= acknowledged_by(path, kill_after=chance.randint(1, 400))
        async with open_store(path, on_fatal=Fatal()) as store:
            assert store.epoch == 0  # a killed process is no power cut
            await look(store, path, acknowledged)
    assert len(acknowledged) > ROUNDS


@pytest.mark.parametrize("step", ["before-commit", "after-commit"])
async def test_a_kill_at_a_named_step_leaves_whole_commits(tmp_path: Path, step: str) -> None:
    path = tmp_path / "betcode.db"
    acknowledged: dict[SessionId, int] = {}
    for count in (1, 2, 7, 8, 40):
        acknowledged |= acknowledged_by(path, step=step, count=count)
        async with open_store(path, on_fatal=Fatal()) as store:
            await look(store, path, acknowledged)


def openings_until_killed(path: Path, after_s: float) -> int:
    """Run the opener until it is killed, so long after its first opening; how many openings it said."""
    argv = [sys.executable, str(OPENER), str(path)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, env=environment()) as child:
        assert child.stdout is not None
        first = child.stdout.readline()
        # Anywhere in the closing that follows, or in the next opening.
        with pytest.raises(subprocess.TimeoutExpired):
            child.wait(after_s)
        child.kill()
        return len([first, *child.stdout.readlines()])


async def test_kills_while_opening_and_closing_lose_nothing_and_are_no_power_cut(tmp_path: Path) -> None:
    path, chance, openings = tmp_path / "betcode.db", random.Random(21), 0
    for _ in range(ROUNDS):
        openings += openings_until_killed(path, chance.uniform(0, 0.15))
        async with open_store(path, on_fatal=Fatal()) as store:
            assert (store.epoch, store.epoch_reason) == (0, "")
            _rows, total = await store.list_sessions(SessionFilter())
            assert total >= openings
    assert ask(path, "PRAGMA integrity_check") == [("ok",)]
