"""A message is taken back as long as no agent has begun to answer it, and the answer says truly whether it was."""

import uuid
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import anyio.lowlevel
import grpc
import pytest

from betcode.client import Client, NewConversation, Refused, open_client
from betcode.v1 import agent_pb2 as v1
from support.daemon.process import Daemon, obedient_daemon, running_daemon
from support.daemon.session import Talk, assert_whole, is_idle, settled_text, states_of
from support.patience import PATIENCE_S
from support.providers.claude_world import demo_talk
from support.rounds.facts import ledger
from support.rounds.rounds import mindful_program

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
async def daemon(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Daemon]:
    """One turn at work at a time."""
    async with obedient_daemon(tmp_path_factory.mktemp("daemon"), settings={"agents": {"turn_limit": 1}}) as daemon:
        yield daemon


@pytest.fixture
async def client(daemon: Daemon) -> AsyncIterator[Client]:
    async with open_client(daemon.paths) as client:
        yield client


async def a_talk(daemon: Daemon, client: Client, work: Path, budget: v1.Budget | None = None) -> Talk:
    work.mkdir(exist_ok=True)
    new = NewConversation(str(work), provider="claude", environment=daemon.environment, budget=budget)
    return Talk(client, await client.start_session(new))


@pytest.fixture
async def talk(daemon: Daemon, client: Client, tmp_path: Path) -> AsyncIterator[Talk]:
    made = await a_talk(daemon, client, tmp_path)
    yield made
    await client.close(made.session_id)  # no slot stays taken


async def begin_to_wait(talk: Talk) -> str:
    """Open a turn that ends when the file `go` is there."""
    accepted = await talk.say("wait go")
    await talk.until(lambda event: event.text_delta.text == "waiting")
    return accepted.message_id


def cancelled(event: v1.AgentEvent) -> bool:
    return event.message_state.state == v1.MESSAGE_STATE_CANCELLED


async def withdraw(daemon: Daemon, session_id: str, message_id: str) -> v1.WithdrawMessageResponse:
    async with daemon.agent_service() as service:
        with anyio.fail_after(PATIENCE_S):
            return await service.WithdrawMessage(
                v1.WithdrawMessageRequest(session_id=session_id, message_id=message_id)
            )


async def test_what_the_agent_has_queued_is_taken_back(daemon: Daemon, talk: Talk, tmp_path: Path) -> None:
    await begin_to_wait(talk)
    unwanted, wanted = await talk.say("say never"), await talk.say("say this")
    await talk.until(lambda event: event.message_state.message_id == wanted.message_id)  # the agent has both
    assert await talk.client.withdraw(talk.session_id, unwanted.message_id)
    assert (await talk.until(cancelled))[-1].message_state.reason == "withdrawn"
    (tmp_path / "go").touch()
    events = await talk.until(lambda event: wanted.message_id in event.turn_complete.message_ids)
    assert settled_text(events) == "waitingthis"
    assert states_of(talk.events, unwanted.message_id) == ["DELIVERED", "CANCELLED"]
    assert await talk.client.withdraw(talk.session_id, unwanted.message_id)
    assert not await talk.client.withdraw(talk.session_id, wanted.message_id)
    await talk.until(is_idle)
    assert_whole(talk.events)


async def test_what_the_agent_answers_stays(daemon: Daemon, talk: Talk, tmp_path: Path) -> None:
    message_id = await begin_to_wait(talk)
    for spelled in (message_id, message_id.upper()):
        told = await withdraw(daemon, talk.session_id, spelled)
        assert (told.withdrawn, told.state) == (False, v1.MESSAGE_STATE_DELIVERED)
    (tmp_path / "go").touch()
    assert settled_text(await talk.until(is_idle)) == "waiting"
    told = await withdraw(daemon, talk.session_id, message_id)
    assert (told.withdrawn, told.state) == (False, v1.MESSAGE_STATE_CONSUMED)


async def test_what_waits_for_a_place_is_taken_back_and_the_session_rests(
    daemon: Daemon, client: Client, talk: Talk, tmp_path: Path
) -> None:
    await begin_to_wait(talk)
    other = await a_talk(daemon, client, tmp_path / "other")
    first, second = await other.say("say first"), await other.say("say second")
    assert await client.withdraw(other.session_id, first.message_id)
    assert (await other.summary()).status == "active"
    assert await client.withdraw(other.session_id, second.message_id)
    events = await other.until(is_idle)
    assert [event.turn_complete.stop_reason for event in events if event.HasField("turn_complete")] == ["cancelled"]
    for each in (first, second):
        assert states_of(other.events, each.message_id)[-1] == "CANCELLED"
    assert (await other.summary()).status == "idle"
    (tmp_path / "go").touch()
    await talk.until(is_idle)
    assert settled_text(await other.turn("say fine")) == "fine"
    assert_whole(other.events)


async def test_what_waits_for_the_budget_takes_its_question_along(
    daemon: Daemon, client: Client, tmp_path: Path
) -> None:
    talk = await a_talk(daemon, client, tmp_path, v1.Budget(max_turns=1))
    await talk.turn("say one")
    first = await talk.say("say two")
    await talk.asked()
    second = await talk.say("say three")
    assert await client.withdraw(talk.session_id, first.message_id)
    assert len(await client.pending(talk.session_id)) == 1
    assert await client.withdraw(talk.session_id, second.message_id)
    events = await talk.until(is_idle)
    assert [e.permission_resolved.resolution for e in events if e.HasField("permission_resolved")] == ["withdrawn"]
    assert list(await client.pending(talk.session_id)) == []


async def test_an_id_that_is_none_of_this_session_is_told_so(
    daemon: Daemon, client: Client, talk: Talk, tmp_path: Path
) -> None:
    others = await (await a_talk(daemon, client, tmp_path / "other")).say("say something")
    for message_id, status, code in (
        (str(uuid.uuid4()), grpc.StatusCode.NOT_FOUND, "MESSAGE_NOT_FOUND"),
        (others.message_id, grpc.StatusCode.NOT_FOUND, "MESSAGE_NOT_FOUND"),
        ("nonsense", grpc.StatusCode.INVALID_ARGUMENT, "INVALID_REQUEST"),
        ("", grpc.StatusCode.INVALID_ARGUMENT, "INVALID_REQUEST"),
    ):
        with pytest.raises(Refused) as refused:
            await client.withdraw(talk.session_id, message_id)
        assert (refused.value.status, refused.value.code) == (status, code)


async def test_the_demo_agent_lets_go_too(daemon: Daemon, client: Client) -> None:
    talk = await demo_talk(daemon, client, speed=8)
    await talk.say("hello")
    await talk.until("text_delta")
    unwanted = await talk.say("hello again")
    assert await client.withdraw(talk.session_id, unwanted.message_id)
    await talk.until(is_idle)
    assert states_of(talk.events, unwanted.message_id)[-1] == "CANCELLED"


async def test_a_daemon_that_was_killed_is_followed_by_one_that_takes_it_back(tmp_path: Path) -> None:
    async with obedient_daemon(tmp_path) as daemon, open_client(daemon.paths, sleep=daemon.until_it_serves) as client:
        talk = await a_talk(daemon, client, tmp_path / "work")
        await begin_to_wait(talk)
        unwanted = await talk.say("say never")
        await talk.until(lambda event: event.message_state.message_id == unwanted.message_id)
        daemon.kill()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(daemon.start)
            assert await client.withdraw(talk.session_id, unwanted.message_id)
        (tmp_path / "work" / "go").touch()
        assert settled_text(await talk.until(is_idle)) == "waiting"
        assert states_of(talk.events, unwanted.message_id) == ["DELIVERED", "CANCELLED"]
        assert len(daemon.agent_pids) == 1
        assert_whole(talk.events)


async def test_two_at_once_and_in_a_race_with_the_agent_are_told_the_truth(tmp_path: Path) -> None:
    async with (
        running_daemon(tmp_path, claude_bin=mindful_program(tmp_path)) as daemon,
        open_client(daemon.paths) as one,
        open_client(daemon.paths) as other,
    ):
        for steps in (0, 3, 10, 30):
            work = tmp_path / f"work-{steps}"
            talk = await a_talk(daemon, one, work)
            await begin_to_wait(talk)
            sent = [(await talk.say(f"say {number}")).message_id for number in range(4)]
            told: list[tuple[str, bool]] = []

            async def take_back(
                client: Client, message_id: str, session_id: str = talk.session_id, told: list[tuple[str, bool]] = told
            ) -> None:
                told.append((message_id, await client.withdraw(session_id, message_id)))

            async with anyio.create_task_group() as tasks:
                for message_id in reversed(sent):
                    tasks.start_soon(take_back, one, message_id)
                    tasks.start_soon(take_back, other, message_id)
                for _ in range(steps):
                    await anyio.lowlevel.checkpoint()
                (work / "go").touch()
            while {(states_of(talk.events, name) or [""])[-1] for name in sent} - {"CONSUMED", "CANCELLED"}:
                await talk.until("message_state")
            began = {noted.name for noted in ledger(work) if noted.what == "began"}
            assert sorted(told) == sorted((name, name not in began) for name in sent for _ in range(2))
            for name in sent:
                assert states_of(talk.events, name)[-1] == ("CONSUMED" if name in began else "CANCELLED")
