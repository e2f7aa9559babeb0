"""The client library with a real daemon, also one that is killed meanwhile."""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import aclosing
from pathlib import Path

import anyio
import pytest

from betcode.client import Client, LinkState, NewConversation, Refused, open_client
from betcode.client.ticket import fetch_ticket
from betcode.v1 import agent_pb2 as v1
from support.daemon.process import Daemon, obedient_daemon
from support.patience import PATIENCE_S
from support.processes.command import end_inside

pytestmark = pytest.mark.anyio
QUICK_LADDER = (20, 20, 50, 50, 100)


@pytest.fixture(autouse=True)
def nothing_is_left_running(tmp_path: Path) -> Iterator[None]:
    yield
    end_inside(tmp_path)


async def begun(client: Client, daemon: Daemon) -> str:
    return await client.start_session(NewConversation(str(daemon.work), environment={"PATH": "/usr/bin:/bin"}))


async def until_rest(client: Client, session: str, after: int = 0) -> list[v1.AgentEvent]:
    """Everything up to the end of the turn."""
    heard: list[v1.AgentEvent] = []
    with anyio.fail_after(PATIENCE_S):
        async with aclosing(client.follow(session, after)) as events:
            async for event in events:
                heard.append(event)
                if event.WhichOneof("event") == "status_change" and event.status_change.status == v1.IDLE:
                    break
    return heard


def numbers(events: list[v1.AgentEvent]) -> list[int]:
    return [event.sequence for event in events if event.sequence]


@pytest.mark.behaviour("reconnect.from-last-sequence", "resume.exclusive-start")
async def test_a_follower_that_begins_at_any_event_gets_exactly_the_rest(tmp_path: Path) -> None:
    async with obedient_daemon(tmp_path) as daemon, open_client(daemon.paths) as client:
        session = await begun(client, daemon)
        accepted = await client.send(session, "say one two three four five")
        whole = [event for event in await until_rest(client, session) if event.sequence]
        assert numbers(whole) == list(range(1, len(numbers(whole)) + 1))
        assert whole[accepted.sequence - 1].user_input.message_id == accepted.message_id
        for cut in range(len(whole)):
            rest = await until_rest(client, session, cut)
            assert numbers(rest) == numbers(whole)[cut:]


@pytest.mark.behaviour("reconnect.from-last-sequence", "reconnect.deduplicates")
async def test_batches_over_a_broken_line_are_the_same_events(tmp_path: Path) -> None:
    async with (
        obedient_daemon(tmp_path) as daemon,
        open_client(daemon.paths, ladder_ms=QUICK_LADDER, sleep=daemon.until_it_serves) as client,
    ):
        session = await begun(client, daemon)
        await client.send(session, "count 300\nwait go\ncount 300")
        batches: list[list[v1.AgentEvent]] = []
        with anyio.fail_after(PATIENCE_S):
            async with aclosing(client.follow_batches(session)) as followed:
                async for batch in followed:
                    batches.append(list(batch))
                    if any(event.text_delta.text == "waiting" for event in batch):
                        await daemon.restart()
                        (daemon.work / "go").touch()
                    if any(event.status_change.status == v1.IDLE for event in batch):
                        break
        whole = [event for event in await until_rest(client, session) if event.sequence]
    assert all(batches)
    assert len(batches) < len(whole) / 2
    assert [event for batch in batches for event in batch if event.sequence] == whole


@pytest.mark.behaviour("reconnect.deduplicates", "converse.close.turn-continues")
async def test_a_daemon_killed_in_the_middle_of_a_turn_costs_no_event(tmp_path: Path) -> None:
    states: list[LinkState] = []
    heard: list[v1.AgentEvent] = []
    async with (
        obedient_daemon(tmp_path) as daemon,
        open_client(daemon.paths, ladder_ms=QUICK_LADDER) as client,
        anyio.create_task_group() as tasks,
    ):
        session = await begun(client, daemon)
        await client.send(session, "say before\nwait go\nsay after")
        waiting = anyio.Event()

        async def follow() -> None:
            on_link = lambda link: states.append(link.state)  # noqa: E731
            async with aclosing(client.follow(session, on_link=on_link)) as events:
                async for event in events:
                    heard.append(event)
                    if event.text_delta.text == "waiting":
                        waiting.set()
                    if event.WhichOneof("event") == "turn_complete":
                        return

        tasks.start_soon(follow)
        with anyio.fail_after(PATIENCE_S):
            await waiting.wait()
            await daemon.restart()
            (daemon.work / "go").touch()
    assert numbers(heard) == list(range(1, len(numbers(heard)) + 1))
    assert heard[-1].turn_complete.stop_reason == "end_turn"
    assert states[:2] == [LinkState.CONNECTED, LinkState.BROKEN]
    assert states[-1] is LinkState.CONNECTED


async def test_a_message_sent_while_no_daemon_runs_arrives_once(tmp_path: Path) -> None:
    async with (
        obedient_daemon(tmp_path) as daemon,
        open_client(daemon.paths, sleep=daemon.until_it_serves) as client,
    ):
        session = await begun(client, daemon)
        daemon.kill()
        with anyio.fail_after(PATIENCE_S):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(client.send, session, "say hello")
                await daemon.start()
        said = [event for event in await until_rest(client, session) if event.WhichOneof("event") == "user_input"]
        assert [event.user_input.content for event in said] == ["say hello"]


@pytest.mark.behaviour("converse.turn.many-per-stream", "converse.close.client-half", "converse.reopen.replays-missed")
async def test_a_conversation_continues_over_a_killed_daemon(tmp_path: Path) -> None:
    heard: list[v1.AgentEvent] = []
    async with obedient_daemon(tmp_path) as daemon, open_client(daemon.paths, ladder_ms=QUICK_LADDER) as client:
        conversation = client.converse(await begun(client, daemon))
        prompts = ["say first", "say second", "say third"]
        with anyio.fail_after(PATIENCE_S):
            await conversation.say(prompts.pop(0))
            async with aclosing(conversation.events()) as events:
                async for event in events:
                    heard.append(event)
                    if event.WhichOneof("event") != "status_change" or event.status_change.status != v1.IDLE:
                        continue
                    if len(prompts) == 2:
                        await daemon.restart()
                    if prompts:
                        await conversation.say(prompts.pop(0))
                    else:
                        await conversation.finish()
    assert numbers(heard) == list(range(1, len(numbers(heard)) + 1))
    said = [event.user_input.content for event in heard if event.WhichOneof("event") == "user_input"]
    assert said == ["say first", "say second", "say third"]
    assert conversation.unacknowledged == ()


async def test_prompts_are_listed_and_answered_once(tmp_path: Path) -> None:
    async with obedient_daemon(tmp_path) as daemon, open_client(daemon.paths) as client:
        session = await begun(client, daemon)
        await client.send(session, "tool")
        with anyio.fail_after(PATIENCE_S):
            async with aclosing(client.follow(session)) as events:
                async for event in events:
                    if event.WhichOneof("event") == "permission_request":
                        break
        [prompt] = await client.pending()
        assert (prompt.session_id, prompt.permission.tool_name) == (session, "Bash")
        assert await client.answer_permission(prompt.request_id, v1.ALLOW_ONCE) is False
        assert await client.answer_permission(prompt.request_id, v1.ALLOW_ONCE) is True
        with pytest.raises(Refused) as refused:
            await client.answer_permission(prompt.request_id, v1.DENY)
        assert refused.value.code == "PERMISSION_STALE"
        await until_rest(client, session)
        assert not await client.pending(session)
        assert len((daemon.work / "ran.txt").read_text().splitlines()) == 1


async def test_a_process_inside_an_agent_gets_no_ticket(tmp_path: Path) -> None:
    asker = tmp_path / "asker.py"
    asker.write_text(
        "import asyncio, sys, pathlib\n"
        "from betcode.client.ticket import fetch_ticket\n"
        "asyncio.run(fetch_ticket(pathlib.Path(sys.argv[1])))\n"
    )
    async with obedient_daemon(tmp_path) as daemon, open_client(daemon.paths) as client:
        assert await fetch_ticket(daemon.paths.ticket_socket)
        session = await begun(client, daemon)
        await client.send(session, f"spawn {sys.executable} {asker} {daemon.paths.ticket_socket}")
        said = "".join(event.text_delta.text for event in await until_rest(client, session))
        assert "Refused" in said


async def test_a_value_too_long_for_its_event_is_read_whole(tmp_path: Path) -> None:
    async with obedient_daemon(tmp_path) as daemon, open_client(daemon.paths) as client:
        session = await begun(client, daemon)
        await client.send(session, "count 1 700000")
        cuts = [(event, cut) for event in await until_rest(client, session) for cut in event.cuts]
        assert cuts
        for event, cut in cuts:
            assert cut.field == "text_delta.text"
            assert len(event.text_delta.text) < cut.size_bytes
            async with aclosing(client.read_blob(session, cut.sha256)) as pieces:
                assert len(b"".join([piece async for piece in pieces])) == cut.size_bytes


async def test_health_and_unknown_sessions_are_reported(tmp_path: Path) -> None:
    async with obedient_daemon(tmp_path) as daemon, open_client(daemon.paths) as client:
        assert await client.is_serving()
        assert (await client.health()).metadata["pid"] == str(daemon.pid)
        with pytest.raises(Refused) as refused:
            await client.send("019a0000-0000-7000-8000-000000000000", "hello")
        assert refused.value.code == "SESSION_NOT_FOUND"
        assert refused.value.details["session_id"] == "019a0000-0000-7000-8000-000000000000"


async def test_a_call_that_is_given_up_ends_in_the_scope_that_gave_it_up(tmp_path: Path) -> None:
    async with obedient_daemon(tmp_path) as daemon, open_client(daemon.paths) as client:
        os.kill(daemon.pid, signal.SIGSTOP)
        try:
            for call in (client.list_sessions, client.handshake):
                with anyio.move_on_after(0.1) as scope:
                    await call()
                assert scope.cancelled_caught
        finally:
            os.kill(daemon.pid, signal.SIGCONT)
