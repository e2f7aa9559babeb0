"""One fault at a time: each ends in a clear state and a clear message, and nothing accepted is lost."""

import os
import shutil
import signal
import sqlite3
from pathlib import Path

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest

from betcode.client import Client, open_client
from betcode.client.errors import ClientError
from betcode.domain.runs.journal_record import RecordKind
from betcode.holder.journal import segment_name
from betcode.holder.launch import holder_pid
from betcode.v1 import agent_pb2 as v1
from support.daemon.process import Daemon, agent_program, running_daemon
from support.daemon.runs import RunOnDisk, gone, runs_in
from support.daemon.session import Talk, assert_whole, is_idle, kinds, settled_text, states_of
from support.patience import PATIENCE_S
from support.providers.claude_world import obedient_talk
from support.storage.disk import fill, small_disk

pytestmark = pytest.mark.anyio


def only_run(daemon: Daemon) -> RunOnDisk:
    (run,) = runs_in(daemon.paths.runs)
    return run


def holder_of(run: RunOnDisk) -> int:
    pid = holder_pid(run.directory)
    assert pid is not None
    return pid


async def refusal_of(daemon: Daemon, talk: Talk) -> str:
    """The code with which another message is refused, by a client that does not wait before it tries again."""

    async def at_once(_seconds: float) -> None:
        await anyio.lowlevel.checkpoint()

    async with open_client(daemon.paths, sleep=at_once) as hasty:
        with pytest.raises(ClientError) as refused:
            await hasty.send(talk.session_id, "say now?")
        return refused.value.code


def waits(event: v1.AgentEvent) -> bool:
    return event.text_delta.text == "waiting"


def errors(events: list[v1.AgentEvent]) -> list[str]:
    return [event.error.code for event in events if event.HasField("error")]


async def test_an_agent_that_is_killed_is_a_clear_error_and_another_goes_on(daemon: Daemon, client: Client) -> None:
    talk = await obedient_talk(daemon, client)
    first = await talk.say("say hello\nwait more")
    await talk.until(waits)
    os.kill(only_run(daemon).agent_pid, signal.SIGKILL)
    (daemon.work / "more").touch()
    after = await talk.until(is_idle)
    assert errors(after) == ["SUBPROCESS_CRASHED"]
    assert "SIGKILL" in next(event.error.message for event in after if event.HasField("error"))
    assert_whole(talk.events)
    assert states_of(talk.events, first.message_id)[-1] == "CONSUMED", "what was not consumed was sent again"


async def test_a_killed_holder_takes_its_agent_along_and_history_says_so(daemon: Daemon, client: Client) -> None:
    talk = await obedient_talk(daemon, client)
    await talk.say("wait more")
    await talk.until(waits)
    run = only_run(daemon)
    agent = run.agent_pid
    os.kill(holder_of(run), signal.SIGKILL)
    await gone(agent)
    (daemon.work / "more").touch()
    after = await talk.until(is_idle)
    assert errors(after) == ["SUBPROCESS_CRASHED"]
    assert "holder" in next(event.error.message for event in after if event.HasField("error"))
    assert "waiting" in settled_text(after), "another agent went on"


async def a_tool_at_work(daemon: Daemon, talk: Talk) -> int:
    """A tool in a session of its own, as agents start them; its pid."""
    told = daemon.work / "tool.pid"
    os.mkfifo(told)
    script = daemon.work / "tool.sh"
    script.write_text(f"#!/bin/sh\necho $$ > {told}\nexec sleep 1000\n")
    script.chmod(0o755)
    await talk.say(f"spawn setsid {script}")
    with anyio.fail_after(PATIENCE_S):
        return int(await anyio.to_thread.run_sync(told.read_text, abandon_on_cancel=True))


async def test_a_tool_left_running_by_a_killed_agent_is_ended(daemon: Daemon, client: Client) -> None:
    talk = await obedient_talk(daemon, client)
    tool = await a_tool_at_work(daemon, talk)
    os.kill(only_run(daemon).agent_pid, signal.SIGKILL)
    await gone(tool)
    assert errors(await talk.until("error")) == ["SUBPROCESS_CRASHED"]


async def test_a_tool_of_a_killed_holder_is_ended_too(daemon: Daemon, client: Client) -> None:
    talk = await obedient_talk(daemon, client)
    tool = await a_tool_at_work(daemon, talk)
    os.kill(holder_of(only_run(daemon)), signal.SIGKILL)
    await gone(tool)


async def test_a_journal_torn_in_the_middle_of_a_line_is_read_up_to_there_and_the_loss_is_told(
    daemon: Daemon, client: Client
) -> None:
    talk = await obedient_talk(daemon, client)
    await talk.say("count 20\nwait more")
    await talk.until(waits)
    run = only_run(daemon)
    daemon.kill()
    agent = run.agent_pid
    os.kill(holder_of(run), signal.SIGKILL)
    await gone(agent)
    whole = len(run.records())
    with (run.directory / segment_name(0)).open("ab") as journal:
        journal.write(b"out 1 1 0 500 00000000\n" + b'{"type":"assistant","mess')
    (daemon.work / "more").touch()
    await daemon.start()
    after = await talk.until(is_idle)
    assert "gap" in kinds(after)
    gap = next(event.gap for event in after if event.HasField("gap"))
    assert gap.reason
    assert gap.bytes_lost > 0
    assert errors(after) == ["SUBPROCESS_CRASHED"]
    assert_whole(talk.events)
    assert len([record for record in run.records() if record.kind is not RecordKind.DAMAGED]) == whole


@pytest.mark.behaviour("recovery.sqlite.write-failure")
async def test_while_another_program_locks_the_database_nothing_is_shown_or_taken_and_then_nothing_is_missing(
    daemon: Daemon, client: Client
) -> None:
    talk = await obedient_talk(daemon, client)
    await talk.say("wait go\ncount 500\nwait more\ncount 10")
    await talk.until(waits)
    locking = sqlite3.connect(daemon.paths.database, isolation_level=None)
    locking.execute("BEGIN IMMEDIATE")
    (daemon.work / "go").touch()
    notice = await talk.until(lambda event: event.notice.details.get("degraded") == "true")
    assert notice == [], "nothing numbered while nothing can be written"
    assert await refusal_of(daemon, talk) == "STORAGE_DEGRADED"
    assert (await client.health()).degraded
    locking.execute("ROLLBACK")
    locking.close()
    (daemon.work / "more").touch()
    await talk.until(is_idle)
    assert_whole(talk.events)
    assert settled_text(talk.events).count(" ") == 510
    assert '"level": "error"' in daemon.log
    assert not (await client.health()).degraded


@pytest.mark.behaviour("recovery.sqlite.write-failure")
async def test_a_disk_that_is_full_while_streaming_stops_the_conversation_and_room_lets_it_go_on_whole(
    tmp_path: Path,
) -> None:
    with small_disk(tmp_path / "disk", 24) as disk:
        async with (
            running_daemon(disk, claude_bin=agent_program(tmp_path / "program")) as daemon,
            open_client(daemon.paths) as client,
        ):
            talk = await obedient_talk(daemon, client)
            elsewhere = tmp_path / "go"
            await talk.say(f"wait {elsewhere}\ncount 3000 300\nsay end")
            await talk.until(waits)
            filler = fill(disk)
            elsewhere.touch()
            for _ in range(2):  # who comes later is told, too
                await talk.until(lambda event: event.notice.details.get("degraded") == "true")
            assert await refusal_of(daemon, talk) == "STORAGE_DEGRADED"
            filler.unlink()
            await talk.until(is_idle)
            assert_whole(talk.events)
            deltas = [event.text_delta.text for event in talk.events if not event.text_delta.is_complete]
            counted = [text.split()[0] for text in deltas if text.endswith("x")]
            assert counted == [str(number) for number in range(3000)]
            assert errors(talk.events) == []


async def test_an_agent_that_no_session_knows_is_ended_at_start(daemon: Daemon, client: Client) -> None:
    talk = await obedient_talk(daemon, client)
    await talk.say("wait more")
    await talk.until(waits)
    run = only_run(daemon)
    agent, holder = run.agent_pid, holder_of(run)
    daemon.kill()
    for path in daemon.paths.state_dir.glob("betcode.db*"):
        path.unlink()
    await daemon.start()
    await gone(agent)
    await gone(holder)
    assert (await client.health()).metadata["found_at_start_orphans"] == "1"


async def test_after_a_restored_backup_no_number_is_used_again_and_a_gap_says_why(
    daemon: Daemon, client: Client
) -> None:
    talk = await obedient_talk(daemon, client)
    await talk.turn("say before")
    await daemon.stop()
    backup = daemon.root / "backup.db"
    shutil.copy(daemon.paths.database, backup)
    await daemon.start()
    await talk.turn("say lost by the backup")
    seen = talk.position
    await daemon.stop()
    for path in daemon.paths.state_dir.glob("betcode.db-*"):
        path.unlink()
    shutil.copy(backup, daemon.paths.database)
    await daemon.start()
    after = await talk.turn("say after")  # asks from a number that the restored log does not have
    assert after[0].gap.reason == "restored backup"
    assert after[0].sequence > 1_000_000 > seen
    numbers = [event.sequence for event in talk.events]
    assert numbers == sorted(set(numbers))
