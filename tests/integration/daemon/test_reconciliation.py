"""What a daemon finds when it starts, and makes of it before anyone may ask."""

import json
import os
import signal
from pathlib import Path

import apsw
import pytest

from betcode.client import open_client
from betcode.config.lockfile import is_held
from betcode.engine.maintenance.orphan_check import violations
from betcode.holder.launch import held_runs, holder_pids
from support.daemon.process import Daemon, becomes_true, obedient_daemon
from support.daemon.runs import process_of
from support.daemon.session import Talk, assert_whole, is_idle, kinds, settled_text
from support.patience import PATIENCE_S
from support.providers.claude_world import obedient_talk

pytestmark = pytest.mark.anyio


def stored(daemon: Daemon, question: str) -> list[str]:
    """One column of the stored rows, also of those that were changed."""
    db = apsw.Connection(str(daemon.paths.database))
    try:
        db.set_busy_timeout(5000)
        return [str(row[0]) for row in db.execute(question)]
    finally:
        db.close()


def running_rows(daemon: Daemon) -> list[str]:
    return stored(daemon, "SELECT run_id FROM runs WHERE state IN ('spawning', 'running')")


def in_order(daemon: Daemon) -> bool:
    return violations(running_rows(daemon), daemon.paths.runs) == []


async def lost_turns(daemon: Daemon, talks: list[Talk]) -> None:
    """Sessions stored in the middle of a turn, of which nothing else is left. The daemon is stopped after this."""
    for talk in talks:
        await talk.turn("say hello")
    await daemon.stop()
    stored(daemon, "UPDATE sessions SET status = 'active' RETURNING session_id")


@pytest.mark.behaviour("reconcile.sessions.idle", "reconcile.before-serving")
async def test_sessions_without_an_agent_become_idle_with_a_notice(tmp_path: Path) -> None:
    async with obedient_daemon(tmp_path) as daemon, open_client(daemon.paths) as client:
        talk = await obedient_talk(daemon, client)
        await lost_turns(daemon, [talk])
        await daemon.start()
        assert (await talk.summary()).status == "idle"
        after = await talk.until(is_idle)
        assert kinds(after) == ["notice", "turn_complete", "status_change"]
        assert "found no agent" in after[0].notice.message
        assert (await client.health()).metadata["found_at_start_idle"] == "1"
        await talk.turn("argv")
        assert f"--resume={talk.session_id}" in settled_text(talk.events)
        assert_whole(talk.events)
        assert in_order(daemon)


@pytest.mark.behaviour("reconcile.one-transaction")
async def test_a_daemon_killed_while_it_reconciles_leaves_all_of_it_done_or_nothing(tmp_path: Path) -> None:
    async with obedient_daemon(tmp_path) as daemon, open_client(daemon.paths) as client:
        talks = [await obedient_talk(daemon, client) for _ in range(5)]
        await lost_turns(daemon, talks)
        seen = set()
        for fault in ("before-commit:1", "after-commit:1"):
            process = daemon.launch(BETCODE_FAULT=fault)
            await daemon.ended()
            assert process.returncode == -signal.SIGKILL
            statuses = stored(daemon, "SELECT status FROM sessions")
            assert len(set(statuses)) == 1, statuses
            seen.add(statuses[0])
        assert seen == {"active", "idle"}
        await daemon.start()
        for talk in talks:
            after = await talk.until(is_idle)
            assert kinds(after) == ["notice", "turn_complete", "status_change"]
            assert (await talk.summary()).status == "idle"
            assert_whole(talk.events)


@pytest.mark.behaviour("reconcile.sessions.idle", "reconcile.sessions.adopted")
async def test_every_agent_and_every_row_is_accounted_for(tmp_path: Path) -> None:
    async with obedient_daemon(tmp_path) as daemon, open_client(daemon.paths) as client:
        talks = [await obedient_talk(daemon, client) for _ in range(3)]
        for talk in talks:
            await talk.say("wait go\nsay done")
            await talk.until(lambda event: event.text_delta.text == "waiting")
        adopted, finished, lost = sorted(held_runs(daemon.paths.runs))
        daemon.kill()
        holder = int((daemon.paths.runs / lost / "lock").read_text().split()[0])
        os.kill(holder, signal.SIGKILL)
        await becomes_true(lambda: lost not in held_runs(daemon.paths.runs))
        # An agent that no row stands for any more.
        stored(daemon, f"UPDATE runs SET state = 'exited' WHERE run_id = '{finished}' RETURNING run_id")
        await daemon.start()
        facts = (await client.health()).metadata
        found = {name: int(facts[f"found_at_start_{name}"]) for name in ("adopted", "ended", "orphans")}
        assert found == {"adopted": 1, "ended": 1, "orphans": 1}
        assert "found 1 working agents, 1 that had ended, 1 without a row" in daemon.log
        assert adopted in held_runs(daemon.paths.runs)
        assert finished not in held_runs(daemon.paths.runs)
        (daemon.work / "go").touch()
        await becomes_true(lambda: in_order(daemon))


async def test_processes_of_a_dead_holder_without_a_row_are_ended(tmp_path: Path) -> None:
    async with obedient_daemon(tmp_path) as daemon, open_client(daemon.paths) as client:
        talk = await obedient_talk(daemon, client)
        await talk.turn("say hello")
        await daemon.stop()
        (run_id,) = [path.name for path in daemon.paths.runs.iterdir()]
        assert holder_pids(daemon.paths.runs) == frozenset()
        with process_of(run_id) as leftover:
            assert violations([], daemon.paths.runs) == [f"run {run_id} has 1 processes and no running row"]
            await daemon.start()
            assert leftover.wait(PATIENCE_S) == -signal.SIGTERM
        assert (await client.health()).metadata["found_at_start_orphans"] == "1"
        assert in_order(daemon)


@pytest.mark.behaviour("reconcile.before-serving")
async def test_nobody_is_let_in_before_it_is_done(tmp_path: Path) -> None:
    async with obedient_daemon(tmp_path) as daemon, open_client(daemon.paths) as client:
        await lost_turns(daemon, [await obedient_talk(daemon, client)])
        await daemon.start()
        targets = [json.loads(line)["target"] for line in daemon.log.splitlines()]
        last = len(targets) - 1 - targets[::-1].index("betcode.engine.maintenance.adoption")
        assert "betcode.server.server" in targets[last:]
        assert "betcode.server.server" not in targets[last - 1 : last]
        assert is_held(daemon.paths.lock)
