"""What random rounds have found, each as a small story of its own."""

import os
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from betcode.client import Client, open_client
from betcode.engine.shell.holder_client import attach
from betcode.holder.launch import holder_pid
from betcode.v1 import agent_pb2 as v1
from betcode.v1.admin_pb2 import AGENTS_AT_STOP_ALL_END
from support.daemon.process import Daemon, becomes_true, running_daemon
from support.daemon.runs import gone, runs_in
from support.daemon.session import Talk, is_idle, settled_text, states_of
from support.holder.holders import held
from support.providers.claude_world import obedient_talk
from support.rounds.facts import ledger
from support.rounds.rounds import mindful_program
from support.storage.disk import fill, small_disk

pytestmark = pytest.mark.anyio


@pytest.fixture
async def mindful(tmp_path: Path) -> AsyncIterator[tuple[Daemon, Client]]:
    """A daemon whose agent knows what it was told before it was killed."""
    async with (
        running_daemon(tmp_path / "home", claude_bin=mindful_program(tmp_path)) as daemon,
        open_client(daemon.paths) as client,
    ):
        yield daemon, client


def waits(event: v1.AgentEvent) -> bool:
    return event.text_delta.text == "waiting"


def notices(talk: Talk) -> str:
    return " ".join(event.notice.message for event in talk.events)


async def test_the_socket_of_a_killed_holder_is_removed(daemon: Daemon, client: Client) -> None:
    talk = await obedient_talk(daemon, client)
    await talk.say("wait more")
    await talk.until(waits)
    (daemon.work / "more").touch()
    run = runs_in(daemon.paths.runs)[-1]
    agent, holder = run.agent_pid, holder_pid(run.directory)
    assert holder is not None
    os.kill(holder, signal.SIGKILL)
    await gone(agent)
    await talk.until(is_idle)
    await becomes_true(lambda: not (run.directory / "socket").exists())


async def test_the_socket_of_a_holder_that_is_killed_after_its_agent_is_removed(daemon: Daemon, client: Client) -> None:
    talk = await obedient_talk(daemon, client)
    await talk.turn("say hello")
    run = runs_in(daemon.paths.runs)[-1]
    holder = holder_pid(run.directory)
    assert holder is not None
    os.kill(daemon.pid, signal.SIGSTOP)  # it hears of the agent's end when nobody is left to be let go
    try:
        os.kill(run.agent_pid, signal.SIGKILL)
        async with attach(run.directory) as attachment:
            with anyio.fail_after(30):
                while (await attachment.status()).exit is None:
                    await anyio.lowlevel.checkpoint()
        os.kill(holder, signal.SIGKILL)
        await gone(holder)
    finally:
        os.kill(daemon.pid, signal.SIGCONT)
    await talk.summary_when(lambda one: one.run_state == "exited")
    await becomes_true(lambda: not (run.directory / "socket").exists())


async def test_a_message_cancelled_before_its_agent_begins_ends_its_turn(mindful: tuple[Daemon, Client]) -> None:
    daemon, client = mindful
    talk = await obedient_talk(daemon, client, BETCODE_MINDFUL_BEGINS="begin")
    message = await talk.say("say never")
    await talk.until(lambda event: event.message_state.state == v1.MESSAGE_STATE_DELIVERED)
    assert await client.cancel(talk.session_id, cancel_queued=True)
    after = await talk.until(is_idle)
    assert [event.turn_complete.stop_reason for event in after if event.HasField("turn_complete")] == ["cancelled"]
    assert states_of(talk.events, message.message_id)[-1] == "CANCELLED"
    (daemon.work / "begin").touch()
    assert settled_text(await talk.turn("say again")) == "again"
    assert "did not stop" not in notices(talk), "it had nothing to stop"
    assert [noted.name for noted in ledger(daemon.work) if noted.what == "dropped"] == [message.message_id]


async def test_a_turn_that_was_done_before_a_crash_is_ended_and_the_loss_is_told(
    mindful: tuple[Daemon, Client],
) -> None:
    daemon, client = mindful
    talk = await obedient_talk(daemon, client)
    message = await talk.say("say never heard\nvanish")
    after = await talk.until(is_idle)
    assert states_of(talk.events, message.message_id)[-1] == "CONSUMED"
    assert [event.turn_complete for event in after if event.HasField("turn_complete")] == [
        v1.TurnComplete(stop_reason="crashed", message_ids=[message.message_id])
    ]
    assert "does not continue this turn after its crash. The rest of its answer is lost" in notices(talk)
    assert settled_text(await talk.turn("say heard")) == "heard"
    assert [noted.what for noted in ledger(daemon.work) if noted.name == message.message_id] == ["began", "did"]


async def test_a_turn_that_is_cancelled_while_no_agent_runs_is_not_continued(mindful: tuple[Daemon, Client]) -> None:
    daemon, client = mindful
    talk = await obedient_talk(daemon, client)
    message = await talk.say("wait never")
    await talk.until(waits)
    await client.stop_daemon(daemon.pid, AGENTS_AT_STOP_ALL_END)
    await daemon.ended()
    await daemon.start()
    await talk.until(is_idle)
    await client.cancel(talk.session_id, cancel_queued=True)
    await talk.until(lambda event: event.message_state.state == v1.MESSAGE_STATE_CANCELLED)
    assert settled_text(await talk.turn("say alive")) == "alive"
    assert states_of(talk.events, message.message_id)[-1] == "CANCELLED"
    assert "again" not in [noted.what for noted in ledger(daemon.work)]


async def test_a_message_whose_agent_died_before_its_first_word_is_answered(mindful: tuple[Daemon, Client]) -> None:
    daemon, client = mindful
    talk = await obedient_talk(daemon, client, BETCODE_MINDFUL_SPEECHLESS="died")
    message = await talk.say("say at last")
    await talk.until(is_idle)
    assert settled_text(talk.events) == "at last"
    assert states_of(talk.events, message.message_id)[-1] == "CONSUMED"
    assert [entry.what for entry in ledger(daemon.work)] == ["began", "again", "did"]


SPEAKS_ONCE = """
import pathlib, sys, time
while not pathlib.Path("speak").exists():
    time.sleep(0.01)
print("spoken " + "x" * 100_000, flush=True)
sys.stdin.read()  # stays until it is ended
"""


async def test_what_an_agent_said_to_a_full_disk_is_heard_once_there_is_room(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", 8) as disk:
        agent = [sys.executable, "-I", "-S", "-c", SPEAKS_ONCE]
        with held(disk / "run", agent, cwd=tmp_path) as run:
            async with (
                attach(run.run_dir) as attachment,
                attach(run.run_dir) as other,
                anyio.create_task_group() as tasks,
            ):
                tasks.start_soon(run.line, attachment, b"spoken")
                filler = fill(disk)
                (tmp_path / "speak").touch()
                with anyio.fail_after(20):
                    while not (await other.status()).blocked:
                        pass
                filler.unlink()  # from here on nobody says anything to the holder
        assert len(run.lines()[0]) > 100_000
