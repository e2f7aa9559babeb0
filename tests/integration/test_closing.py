"""A closed session has no agent, whenever and however it was closed, and history says what became of its messages."""

import os
import signal
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from betcode.client import Client, NewConversation, open_client
from betcode.engine.shell.holder_client import attach
from betcode.holder.launch import HolderDidNotStart, HolderSpec, holder_pid, start_holder
from betcode.v1 import agent_pb2 as v1
from support.daemon.process import AGENT_HEAD, Daemon, becomes_true, obedient_daemon, running_daemon
from support.daemon.runs import gone, runs_in
from support.daemon.session import Talk, assert_whole, is_idle, kinds, states_of
from support.paths import AGENTS
from support.patience import PATIENCE_S

pytestmark = pytest.mark.anyio


@pytest.fixture
async def daemon(tmp_path: Path) -> AsyncIterator[Daemon]:
    async with obedient_daemon(tmp_path) as daemon:
        yield daemon


async def a_talk(daemon: Daemon, client: Client) -> Talk:
    new = NewConversation(str(daemon.work), provider="claude", environment=daemon.environment)
    return Talk(client, await client.start_session(new))


def waits(event: v1.AgentEvent) -> bool:
    return event.text_delta.text == "waiting"


async def to_the_end(talk: Talk) -> None:
    """Everything up to the end of the stream, which a closed session has."""
    with anyio.fail_after(PATIENCE_S):
        async for event in talk.client.follow(talk.session_id, talk.position):
            if event.sequence:
                talk.events.append(event)
    assert_whole(talk.events)


async def nobody_but(daemon: Daemon) -> None:
    await becomes_true(lambda: [one.pid for one in daemon.processes()] == [daemon.pid])


@pytest.mark.parametrize("how", ["close", "delete"])
async def test_closing_while_the_agent_is_being_started_leaves_no_agent(daemon: Daemon, how: str) -> None:
    async with open_client(daemon.paths) as client:
        talk = await a_talk(daemon, client)
        await talk.say("wait never")
        assert await (client.close if how == "close" else client.delete)(talk.session_id)
        await nobody_but(daemon)
        other = await a_talk(daemon, client)
        await other.turn("say the daemon is well")
    assert '"level": "error"' not in daemon.log


async def test_what_is_closed_and_deleted_at_once_by_several_is_gone_once(daemon: Daemon) -> None:
    async with open_client(daemon.paths) as client:
        talk = await a_talk(daemon, client)
        await talk.say("wait never")
        await talk.until(waits)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(client.close, talk.session_id)
            tasks.start_soon(client.delete, talk.session_id)
            tasks.start_soon(client.close, talk.session_id)
        await nobody_but(daemon)
    assert '"level": "error"' not in daemon.log


@pytest.mark.parametrize("how", ["closed", "deleted"])
async def test_who_watches_a_turn_is_told_that_its_session_was_closed_or_deleted(daemon: Daemon, how: str) -> None:
    seen: list[v1.AgentEvent] = []
    at_work = anyio.Event()

    async def watch(client: Client, session_id: str) -> None:
        async for event in client.follow(session_id):
            seen.append(event)
            if waits(event):
                at_work.set()

    with anyio.fail_after(PATIENCE_S):
        async with open_client(daemon.paths) as client, anyio.create_task_group() as tasks:
            talk = await a_talk(daemon, client)
            tasks.start_soon(watch, client, talk.session_id)
            await talk.say("wait never")
            await at_work.wait()
            await (client.close if how == "closed" else client.delete)(talk.session_id)
    assert f"The session was {how}" in {event.notice.message for event in seen}
    (told,) = [one.message_state for one in seen if one.message_state.state == v1.MESSAGE_STATE_CANCELLED]
    assert told.reason == f"the session was {how}"


async def test_messages_of_a_closed_session_do_not_stay_open(daemon: Daemon) -> None:
    async with open_client(daemon.paths) as client:
        talk = await a_talk(daemon, client)
        first = await talk.say("wait never")
        await talk.until(waits)
        second = await talk.say("say later")
        await client.close(talk.session_id)
        await to_the_end(talk)
    assert states_of(talk.events, first.message_id)[-1] == "CANCELLED"
    assert states_of(talk.events, second.message_id)[-1] == "CANCELLED"


def stubborn_agent(root: Path) -> Path:
    """The obedient one, deaf to SIGTERM, so that ending it takes a while."""
    program = root / "stubborn"
    deaf = "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    program.write_text(AGENT_HEAD + deaf + (AGENTS / "obedient.py").read_text())
    program.chmod(0o755)
    return program


async def test_who_asks_to_close_and_leaves_has_closed_it_all_the_same(tmp_path: Path) -> None:
    async with (
        running_daemon(tmp_path, claude_bin=stubborn_agent(tmp_path)) as daemon,
        open_client(daemon.paths) as client,
        daemon.agent_service() as hasty,
    ):
        talk = await a_talk(daemon, client)
        await talk.say("wait never")
        await talk.until(waits)
        asking = hasty.CloseSession(v1.CloseSessionRequest(session_id=talk.session_id))
        await talk.until(lambda event: event.notice.message == "The session was closed")
        assert asking.cancel(), "its agent has not ended yet"
        await to_the_end(talk)
        await nobody_but(daemon)


async def test_a_daemon_killed_while_it_closes_is_followed_by_one_that_goes_on_with_it(daemon: Daemon) -> None:
    async with open_client(daemon.paths) as client:
        talk = await a_talk(daemon, client)
        await talk.say("wait never")
        await talk.until(waits)
    (run,) = runs_in(daemon.paths.runs)
    agent = run.agent_pid
    daemon.kill()
    with closing(sqlite3.connect(daemon.paths.database)) as database:
        database.execute("UPDATE sessions SET status = 'closed'")  # and it had no time to tell the holder
        database.commit()
    await daemon.start()
    await gone(agent)
    await nobody_but(daemon)


async def test_a_holder_that_comes_too_late_runs_no_agent(daemon: Daemon) -> None:
    async with open_client(daemon.paths) as client:
        talk = await a_talk(daemon, client)
        await talk.say("wait more")
        await talk.until(waits)
        (run,) = runs_in(daemon.paths.runs)
        holder = holder_pid(run.directory)
        assert holder is not None
        daemon.kill()
        os.kill(holder, signal.SIGKILL)
        await gone(holder)
        (run.directory / "lock").unlink()  # as if it had not come so far yet
        (daemon.work / "more").touch()  # for the agent that goes on
        await daemon.start()
        await talk.until(is_idle)
    spec = HolderSpec(run.directory, ["/bin/sleep", "1000"], {}, daemon.work, run.directory.name)
    with pytest.raises(HolderDidNotStart, match="over"):
        await anyio.to_thread.run_sync(start_holder, spec)


async def test_a_message_for_an_agent_that_a_dead_daemon_sent_home_goes_to_the_next_one(daemon: Daemon) -> None:
    async with open_client(daemon.paths) as client:
        talk = await a_talk(daemon, client)
        await talk.turn("say first")
        (run,) = runs_in(daemon.paths.runs)
        daemon.kill()
        os.kill(run.agent_pid, signal.SIGSTOP)  # so that it is still there when the next daemon comes
        async with attach(run.directory) as attachment:
            await attachment.end(PATIENCE_S, nothing_open=True)
        await daemon.start()
        sent = await talk.say("say second")
        os.kill(run.agent_pid, signal.SIGCONT)
        await talk.until(lambda event: sent.message_id in event.turn_complete.message_ids)
    assert "error" not in kinds(talk.events)
    assert states_of(talk.events, sent.message_id)[-1] == "CONSUMED"
    assert len(set(daemon.agent_pids)) == 2
    assert '"level": "error"' not in daemon.log


async def test_deleting_a_session_whose_holder_is_stopped_ends_both_and_harms_nobody(daemon: Daemon) -> None:
    async with open_client(daemon.paths) as client:
        talk = await a_talk(daemon, client)
        await talk.say("wait never")
        await talk.until(waits)
        (run,) = runs_in(daemon.paths.runs)
        holder = holder_pid(run.directory)
        assert holder is not None
        os.kill(holder, signal.SIGSTOP)
        with anyio.fail_after(PATIENCE_S):
            assert await client.delete(talk.session_id)
        await nobody_but(daemon)
        other = await a_talk(daemon, client)
        assert "here" in str(await other.turn("say here"))
