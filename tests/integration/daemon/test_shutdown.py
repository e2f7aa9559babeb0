"""How a daemon stops: in which order, within its bound, and what becomes of its agents."""

import json
import os
import signal
import time
from contextlib import AsyncExitStack
from pathlib import Path

import anyio
import grpc
import pytest
from grpc import aio

from betcode.client import Client, ClientError, Refused, open_client
from betcode.domain.runs.journal_record import RecordKind
from betcode.holder.launch import held_runs, holder_pids
from betcode.v1 import admin_pb2 as admin
from betcode.v1 import agent_pb2 as v1
from support.daemon.compaction import is_compacting
from support.daemon.process import Agent, Daemon, becomes_true, obedient_daemon
from support.daemon.runs import RunOnDisk
from support.daemon.session import Talk, assert_whole, is_idle, kinds, settled_text, states_of
from support.daemon.stream import conversation, info_of
from support.patience import PATIENCE_S
from support.providers.claude_world import obedient_talk
from support.storage.rows import ask

pytestmark = pytest.mark.anyio

IN_TIME = 0  # the daemon watches its own 10 seconds, and ends with another code when they are over
ALL_END = admin.AGENTS_AT_STOP_ALL_END


def alive(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


async def at_work(daemon: Daemon, client: Client, then: str = "wait go") -> Talk:
    """A session in the middle of a turn."""
    talk = await obedient_talk(daemon, client)
    await talk.say(then)
    await talk.until(lambda event: event.text_delta.text == "waiting")
    return talk


async def fails_to_compact(client: Client, session_id: str) -> None:
    with pytest.raises(ClientError):
        await client.compact(session_id)


def stored_status(daemon: Daemon) -> list[object]:
    return [row[0] for row in ask(daemon.paths.database, "SELECT status FROM sessions")]


async def ask_for_ever(agent: Agent) -> None:
    while True:
        await agent.ListSessions(v1.ListSessionsRequest(), timeout=PATIENCE_S)


async def test_agents_end_with_the_daemon_when_that_is_asked_for(tmp_path: Path) -> None:
    async with obedient_daemon(tmp_path) as daemon, open_client(daemon.paths) as client:
        working = await at_work(daemon, client)
        idle = await obedient_talk(daemon, client)
        await idle.turn("say hello")
        await becomes_true(lambda: len(daemon.processes()) == 1 + 2 * 2)
        parted = await client.stop_daemon(daemon.pid, ALL_END)
        assert await daemon.ended() == IN_TIME
        assert (parted.agents_ended, parted.agents_left) == (2, 0)
        await becomes_true(lambda: daemon.processes() == [])
        await daemon.start()
        assert len(daemon.agent_pids) == 2, "none was begun again by itself"
        after = await working.until(is_idle)
        assert kinds(after)[-3:] == ["notice", "turn_complete", "status_change"]
        assert after[-2].turn_complete.stop_reason == "stopped"
        assert_whole(working.events)
        assert (await working.summary()).status == "idle"


async def test_a_stopped_turn_continues_with_the_next_message(tmp_path: Path) -> None:
    async with obedient_daemon(tmp_path) as daemon, open_client(daemon.paths) as client:
        talk = await obedient_talk(daemon, client)
        first = await talk.say("wait go\nsay first")
        await talk.until(lambda event: event.text_delta.text == "waiting")
        await client.stop_daemon(daemon.pid, ALL_END)
        await daemon.ended()
        await daemon.start()
        await talk.until(is_idle)
        (daemon.work / "go").touch()
        second = await talk.say("say second")
        await talk.until(
            lambda event: (
                event.message_state.message_id == second.message_id
                and event.message_state.state == v1.MESSAGE_STATE_CONSUMED
            )
        )
        assert states_of(talk.events, first.message_id)[-1] == "CONSUMED"
        assert settled_text(talk.events).endswith("second")
        assert "first" in settled_text(talk.events)
        assert len(daemon.agent_pids) == 2
        assert_whole(talk.events)


@pytest.mark.parametrize("cancelled", [False, True])
async def test_a_message_behind_a_compaction_that_was_stopped_waits_for_the_next(
    tmp_path: Path, cancelled: bool
) -> None:
    settings = {"cancel": {"interrupt": "10m"}}
    async with obedient_daemon(tmp_path, settings=settings) as daemon, open_client(daemon.paths) as client:
        talk = await obedient_talk(daemon, client)
        await talk.turn("say one")
        (daemon.work / "compact").write_text("deaf\nwait never")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(fails_to_compact, client, talk.session_id)
            await talk.until(is_compacting)
            await talk.until(is_compacting)  # said by the agent itself
            behind = await talk.say("say two")
            if cancelled:
                assert await client.cancel(talk.session_id)
            await client.stop_daemon(daemon.pid, ALL_END)
            await daemon.ended()
            assert stored_status(daemon) == ["idle"]
            await daemon.start()
        assert (await talk.summary()).status == "idle"
        assert len(daemon.agent_pids) == 1, "none was begun again by itself"
        told = await talk.until(is_idle)
        assert kinds(told)[-2:] == ["turn_complete", "status_change"]
        assert "are delivered with the next message" in str(told)
        assert states_of(talk.events, behind.message_id) == []
        next_one = await talk.say("say three")
        await talk.until(
            lambda event: (
                event.message_state.message_id == next_one.message_id
                and event.message_state.state == v1.MESSAGE_STATE_CONSUMED
            )
        )
        assert states_of(talk.events, behind.message_id) == ["DELIVERED", "CONSUMED"]
        assert_whole(talk.events)


def exit_of(daemon: Daemon, session_id: str) -> tuple[str, float]:
    """The signal that ended the agent of a session, and how long that took from the request to end it."""
    question = "SELECT run_id FROM runs JOIN sessions ON sessions.key = runs.session"
    [(run_id,)] = ask(daemon.paths.database, f"{question} WHERE session_id = '{session_id}'")
    records = RunOnDisk(daemon.paths.runs / str(run_id)).records()
    (end,) = [record for record in records if record.kind is RecordKind.EXIT]
    return str(json.loads(end.data)["signal"]), end.wall_ns / 1e9


@pytest.mark.behaviour("lifecycle.shutdown.agents-ended")
async def test_an_agent_gets_sigterm_and_after_5_seconds_sigkill(tmp_path: Path) -> None:
    async with obedient_daemon(tmp_path) as daemon, open_client(daemon.paths) as client:
        heeds = await at_work(daemon, client)
        ignores = await at_work(daemon, client, "ignore SIGTERM\nwait go")
        asked = time.time()
        await client.stop_daemon(daemon.pid, ALL_END)
        assert await daemon.ended() == IN_TIME
        assert exit_of(daemon, heeds.session_id)[0] == "SIGTERM"
        by, at = exit_of(daemon, ignores.session_id)
        assert by == "SIGKILL"
        assert at - asked >= 5


async def test_an_agent_whose_holder_does_not_answer_is_killed_within_the_bound(tmp_path: Path) -> None:
    async with obedient_daemon(tmp_path) as daemon, open_client(daemon.paths) as client:
        await at_work(daemon, client)
        (holder,) = holder_pids(daemon.paths.runs)
        os.kill(holder, signal.SIGSTOP)
        parted = await client.stop_daemon(daemon.pid, ALL_END)
        assert await daemon.ended() == IN_TIME
        assert (parted.agents_ended, parted.agents_left) == (1, 0)
        await becomes_true(lambda: daemon.processes() == [])


@pytest.mark.behaviour("lifecycle.shutdown.agents-kept", "reconcile.sessions.adopted")
async def test_agents_that_stay_are_adopted_even_idle_ones(tmp_path: Path) -> None:
    async with obedient_daemon(tmp_path) as daemon, open_client(daemon.paths) as client:
        working = await at_work(daemon, client, "wait go\nsay done")
        idle = await obedient_talk(daemon, client)
        await idle.turn("say hello")
        pids = daemon.agent_pids
        parted = await client.stop_daemon(daemon.pid, admin.AGENTS_AT_STOP_ALL_STAY)
        assert await daemon.ended() == IN_TIME
        assert (parted.agents_ended, parted.agents_left) == (0, 2)
        assert all(alive(pid) for pid in pids)
        await daemon.start()
        (daemon.work / "go").touch()
        await working.until(is_idle)
        await idle.turn("say again")
        assert daemon.agent_pids == pids
        assert settled_text(working.events).endswith("done")
        assert_whole(working.events)


@pytest.mark.parametrize("pid", [0, 1])
async def test_a_stop_with_another_pid_does_not_stop_the_daemon(tmp_path: Path, pid: int) -> None:
    async with obedient_daemon(tmp_path) as daemon, open_client(daemon.paths) as client:
        with pytest.raises(Refused) as refused:
            await client.stop_daemon(pid, ALL_END)
        assert refused.value.code == "INVALID_REQUEST"
        assert await client.is_serving()


async def test_an_agents_own_process_cannot_stop_the_daemon_by_a_call(tmp_path: Path) -> None:
    async with obedient_daemon(tmp_path) as daemon, open_client(daemon.paths) as client:
        paths = daemon.paths
        argv = f"{daemon.argv[0]} -m betcode daemon stop --agents --state-dir {paths.state_dir}"
        argv += f" --config-dir {paths.config_dir} --socket {paths.socket}"
        talk = await obedient_talk(daemon, client)
        await talk.turn(f"spawn {argv}")
        assert "may read but not act for a person" in settled_text(talk.events)
        assert await client.is_serving()
        await talk.turn(f"spawn {argv.replace('stop --agents', 'restart')}")
        assert "may read but not act for a person" in settled_text(talk.events)
        assert await client.is_serving()


@pytest.mark.behaviour(
    "lifecycle.shutdown.signals", "lifecycle.shutdown.clients-notified", "lifecycle.shutdown.agents-kept"
)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_clients_are_notified_and_stalled_clients_delay_nobody(tmp_path: Path, number: signal.Signals) -> None:
    async with obedient_daemon(tmp_path) as daemon, AsyncExitStack() as stack:
        agent = await stack.enter_async_context(daemon.agent_service())
        busy = await stack.enter_async_context(conversation(agent, working_directory=str(daemon.work)))
        await busy.say("count 40000 2000\nwait go")
        for _ in range(3):  # they read one event and then nothing any more
            reader = await stack.enter_async_context(daemon.agent_service())
            await busy.next()
            stalled = reader.ResumeSession(v1.ResumeSessionRequest(session_id=busy.session_id))
            assert isinstance(await stalled.read(), v1.AgentEvent)
        listener = await stack.enter_async_context(daemon.agent_service())
        told = await stack.enter_async_context(conversation(listener, working_directory=str(daemon.work)))
        await told.next()
        os.kill(daemon.pid, number)
        with pytest.raises(aio.AioRpcError) as ended:
            await told.rest()
        assert ended.value.code() is grpc.StatusCode.UNAVAILABLE
        assert info_of(ended.value).reason == "DAEMON_STOPPING"
        assert await daemon.ended() == IN_TIME
        assert all(alive(pid) for pid in daemon.agent_pids)
        assert json.loads(daemon.log.splitlines()[-1])["message"] == "stopped"


@pytest.mark.behaviour("lifecycle.shutdown.order", "lifecycle.shutdown.clients-notified")
async def test_during_shutdown_new_clients_are_refused_and_others_are_notified_last(tmp_path: Path) -> None:
    async with obedient_daemon(tmp_path) as daemon, open_client(daemon.paths) as client, AsyncExitStack() as stack:
        agent = await stack.enter_async_context(daemon.agent_service())
        watching = await stack.enter_async_context(conversation(agent, working_directory=str(daemon.work)))
        await watching.next()
        await at_work(daemon, client)
        (holder,) = holder_pids(daemon.paths.runs)
        os.kill(holder, signal.SIGSTOP)  # so that ending takes a while
        late = await stack.enter_async_context(daemon.agent_service())
        await late.ListSessions(v1.ListSessionsRequest())  # its connection stands: little time is left from here on
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(client.stop_daemon, daemon.pid, ALL_END)
            with pytest.raises(aio.AioRpcError) as refused:
                await ask_for_ever(late)  # until the door closes
            assert info_of(refused.value).reason == "DAEMON_STOPPING"
            assert held_runs(daemon.paths.runs)
            os.kill(holder, signal.SIGCONT)
            with pytest.raises(aio.AioRpcError) as ended:
                await watching.rest()
            assert info_of(ended.value).reason == "DAEMON_STOPPING"
            assert not held_runs(daemon.paths.runs)
            assert set(stored_status(daemon)) <= {"new", "idle"}, "SQLite has everything before clients are notified"
        assert await daemon.ended() == IN_TIME
        assert not daemon.paths.socket.exists()
