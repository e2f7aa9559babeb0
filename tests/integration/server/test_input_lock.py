"""Who may type: one client at a time, whatever the others do."""

import sys
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path

import anyio
import grpc
import pytest
from grpc import aio

from betcode.client import Client, ClientError, LockAnswer
from betcode.domain.values.identifiers import new_message_id, new_session_id
from betcode.v1 import agent_pb2 as v1
from support.daemon.lock_clients import caller, new_session, typist
from support.daemon.process import Agent, Daemon, obedient_daemon
from support.daemon.stream import conversation, info_of, is_idle, kind_of, message
from support.paths import SUPPORT
from support.patience import PATIENCE_S
from support.storage.rows import locked_by_another_program

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
async def daemon(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Daemon]:
    """A daemon where a holder has more time to answer than any test takes."""
    async with obedient_daemon(tmp_path_factory.mktemp("lock"), settings={"sessions.lock_answer": "10m"}) as daemon:
        yield daemon


@pytest.fixture(scope="module")
async def hasty(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Daemon]:
    """A daemon where a holder that does not answer at once has lost the lock."""
    async with obedient_daemon(tmp_path_factory.mktemp("hasty"), settings={"sessions.lock_answer": "200ms"}) as daemon:
        yield daemon


class Asking:
    """A request for the lock that is under way."""

    def __init__(self) -> None:
        self.answer: LockAnswer | None = None
        self.error: ClientError | None = None
        self.scope = anyio.CancelScope()
        self.over = anyio.Event()

    async def run(self, client: Client, session_id: str) -> None:
        with self.scope:
            try:
                self.answer = await client.input_lock.request(session_id)
            except ClientError as error:
                self.error = error
            self.over.set()


def refusal(error: pytest.ExceptionInfo[ClientError]) -> tuple[grpc.StatusCode, str, str, str]:
    value = error.value
    return value.status, value.code, value.message, value.details["holder_client_id"]


def refused_for(holder: str) -> tuple[grpc.StatusCode, str, str, str]:
    return grpc.StatusCode.PERMISSION_DENIED, "NO_INPUT_LOCK", "Another client holds input lock", holder


@pytest.mark.behaviour("input-lock.refused", "error.status.permission-denied", "error.code.no-input-lock")
@pytest.mark.behaviour("input-lock.observer-sees-all")
async def test_a_message_without_the_lock_is_refused_and_goes_nowhere(daemon: Daemon, tmp_path: Path) -> None:
    session = await new_session(daemon, tmp_path)
    async with typist(daemon, session, "ann") as ann, typist(daemon, session, "ben") as ben:
        await ann.say("say one")
        await ben.holds("ann")
        with pytest.raises(ClientError) as error:
            await ben.say("say two")
        assert refusal(error) == refused_for("ann")
        await ann.say("say three")
        for one in (ann, ben):
            await one.until(lambda one: len(one.heard) == 2 and is_idle(one.events[-1]))
        assert ann.heard == ["say one", "say three"]
        assert ben.events == ann.events


@pytest.mark.behaviour("input-lock.single-holder")
async def test_of_two_simultaneous_senders_one_is_accepted_and_one_refused(
    daemon: Daemon, agent: Agent, tmp_path: Path
) -> None:
    session = await new_session(daemon, tmp_path)
    calls = {name: agent.Converse(metadata=(("x-client-id", name),)) for name in ("ann", "ben")}
    outcome: dict[str, v1.AgentEvent] = {}
    own = {name: message(f"say {name}") for name in calls}

    async def type_and_see(name: str) -> None:
        await calls[name].write(own[name])
        with anyio.fail_after(PATIENCE_S):
            while isinstance(event := await calls[name].read(), v1.AgentEvent):
                if kind_of(event) == "error" or event.user_input.content == f"say {name}":
                    outcome[name] = event
                    return

    for call in calls.values():
        await call.write(v1.AgentRequest(start=v1.StartConversation(session_id=session)))
    async with anyio.create_task_group() as tasks:
        for name in calls:
            tasks.start_soon(type_and_see, name)
    (loser,) = [name for name, event in outcome.items() if kind_of(event) == "error"]
    (winner,) = set(calls) - {loser}
    said = outcome[loser]
    assert (said.sequence, said.error.code, said.error.is_fatal) == (0, "NO_INPUT_LOCK", False)
    assert said.error.details["holder_client_id"] == winner
    assert said.error.details["message_id"] == own[loser].message.idempotency_key
    # The stream goes on: when the winner has left, the same client sends on the same stream.
    calls[winner].cancel()
    async with typist(daemon, session, "watcher") as watcher:
        await watcher.holds("")
        await calls[loser].write(message("say again"))
        await watcher.until(lambda one: one.heard == [f"say {winner}", "say again"])
    calls[loser].cancel()


@pytest.mark.behaviour("input-lock.single-holder")
async def test_a_message_refused_by_a_full_queue_does_not_take_the_lock(tmp_path: Path) -> None:
    settings = {"agents": {"turn_limit": 1, "queue_limit": 0}}
    async with obedient_daemon(tmp_path / "home", settings=settings) as daemon, daemon.agent_service() as agent:
        busy, session = await new_session(daemon, tmp_path), await new_session(daemon, tmp_path)
        async with typist(daemon, busy, "worker") as worker, typist(daemon, session, "ann"):
            await worker.say("wait go")
            refused = v1.SubmitRequest(session_id=session, request=message("say one"))
            with pytest.raises(aio.AioRpcError) as full:
                await agent.Submit(refused, metadata=(("x-client-id", "ann"),))
            assert info_of(full.value).reason == "POOL_EXHAUSTED"
            (tmp_path / "go").touch()
            await worker.until(lambda one: bool(one.events) and is_idle(one.events[-1]))
            async with typist(daemon, session, "ben") as ben:
                assert ben.holder == ""
                await ben.say("say two")
                await ben.holds("ben")


async def test_a_message_that_cannot_be_written_leaves_the_lock_as_it_was(tmp_path: Path) -> None:
    async with obedient_daemon(tmp_path / "home") as daemon:
        session = await new_session(daemon, tmp_path)
        async with typist(daemon, session, "ann") as ann, typist(daemon, session, "ben") as ben:
            with locked_by_another_program(daemon.paths.database), pytest.raises(ClientError) as degraded:
                await ann.say("say one")
            assert degraded.value.code == "STORAGE_DEGRADED"
            await ben.say("say two")
            await ben.holds("ben")
            await ann.holds("ben")


async def test_answers_and_cancels_need_no_lock(daemon: Daemon, tmp_path: Path) -> None:
    session = await new_session(daemon, tmp_path)
    async with typist(daemon, session, "ann") as ann, typist(daemon, session, "ben") as ben:
        await ann.say("tool\nwait never")
        await ben.holds("ann")
        await ben.until(lambda one: "permission_request" in map(kind_of, one.events))
        asked = next(event for event in ben.events if kind_of(event) == "permission_request").permission_request
        assert not await ben.client.answer_permission(asked.request_id, v1.ALLOW_ONCE)
        await ben.until(lambda one: any(event.text_delta.text == "waiting" for event in one.events))
        assert await ben.client.cancel(session)
        await ben.until(lambda one: is_idle(one.events[-1]))
        assert (tmp_path / "ran.txt").exists()
        assert ben.holder == "ann"


@pytest.mark.behaviour("input-lock.holder-disconnects", "input-lock.request.previous-holder")
async def test_the_longest_waiter_has_the_lock_when_its_holder_leaves(daemon: Daemon, tmp_path: Path) -> None:
    session = await new_session(daemon, tmp_path)
    first, second = Asking(), Asking()
    async with typist(daemon, session, "ben") as ben, typist(daemon, session, "cy") as cy:
        async with anyio.create_task_group() as tasks:
            async with typist(daemon, session, "ann") as ann:
                await ann.say("say hello")
                tasks.start_soon(first.run, ben.client, session)
                await cy.asked_by("ben")
                tasks.start_soon(second.run, cy.client, session)
                await ann.until(lambda one: one.lock is not None and [*one.lock.waiting_client_ids] == ["ben", "cy"])
            await cy.holds("ben")
            await ben.asked_by("cy")
            with anyio.fail_after(PATIENCE_S):
                await first.over.wait()
            assert first.answer == LockAnswer(granted=True, previous_holder="ann")
            assert second.answer is None
            await ben.client.input_lock.answer(session, "cy", grant=True)
        assert second.answer == LockAnswer(granted=True, previous_holder="ben")
        await ben.client.input_lock.answer(session, "cy", grant=True)  # said again, as after a broken connection
        await cy.say("say now me")


@pytest.mark.behaviour("input-lock.holder-disconnects.no-waiter", "input-lock.request.free", "recovery.client.drop")
async def test_a_holder_that_is_killed_lets_go(daemon: Daemon, tmp_path: Path) -> None:
    session = await new_session(daemon, tmp_path)
    program = SUPPORT / "daemon" / "lock_holder.py"
    async with typist(daemon, session, "ben") as ben:
        held = [sys.executable, str(program), str(daemon.paths.socket), session, "killed"]
        async with await anyio.open_process(held) as process:
            await ben.holds("killed")
            await ben.until(lambda one: "killed" in one.present)  # which is told a moment after it comes
            process.kill()
        await ben.holds("")
        await ben.until(lambda one: "killed" not in one.present)
        assert await ben.client.input_lock.request(session) == LockAnswer(granted=True, previous_holder="")
        await ben.holds("ben")
        assert await ben.client.input_lock.request(session) == LockAnswer(granted=True, previous_holder="")


async def test_who_is_refused_waits_in_line_until_it_leaves(daemon: Daemon, tmp_path: Path) -> None:
    session = await new_session(daemon, tmp_path)
    asking = Asking()
    async with typist(daemon, session, "ben") as ben:
        async with typist(daemon, session, "ann", "phone") as ann:
            await ann.say("say hello")
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(asking.run, ben.client, session)
                asked = await ann.asked_by("ben")
                assert (asked.holder_client_id, asked.holder_client_type) == ("ann", "phone")
                assert asked.asking_client_type == "test"
                assert asked.answer_by.seconds > 0
                with pytest.raises(ClientError) as error:
                    await ben.client.input_lock.answer(session, "ben", grant=True)
                assert error.value.code == "NO_INPUT_LOCK"
                with pytest.raises(ClientError) as unknown:
                    await ann.client.input_lock.answer(session, "zoe", grant=True)
                assert unknown.value.code == "INVALID_REQUEST"
                await ann.client.input_lock.answer(session, "ben", grant=False)
            assert asking.answer == LockAnswer(granted=False, previous_holder="")
            assert [*(await ann.asked_by("")).waiting_client_ids] == ["ben"]
            async with caller(daemon, "cy") as cy, anyio.create_task_group() as tasks:
                third = Asking()
                tasks.start_soon(third.run, cy, session)
                await ann.asked_by("cy")
                await ann.client.input_lock.answer(session, "", grant=False)
            # The call of this one is over and it follows nothing, so it has left.
            await ann.until(lambda one: one.lock is not None and [*one.lock.waiting_client_ids] == ["ben"])
        await ben.holds("ben")


@pytest.mark.behaviour("input-lock.request.ten-seconds")
async def test_silence_gives_the_lock_and_what_the_old_holder_sends_then_is_refused(
    hasty: Daemon, tmp_path: Path
) -> None:
    session = await new_session(hasty, tmp_path)
    before = new_message_id()
    async with typist(hasty, session, "ann") as ann, typist(hasty, session, "ben") as ben:
        accepted = await ann.client.send(session, "say before", message_id=before)
        assert await ben.client.input_lock.request(session) == LockAnswer(granted=True, previous_holder="ann")
        with pytest.raises(ClientError) as error:
            await ann.say("say after")
        assert refusal(error) == refused_for("ben")
        # Accepted is accepted: said again it is the same message, whoever holds the lock now.
        assert await ann.client.send(session, "say before", message_id=before) == accepted
        await ben.say("say mine")
        await ben.until(lambda one: one.heard == ["say before", "say mine"])
        await ann.holds("ben")


@pytest.mark.behaviour("input-lock.idle.offered", "input-lock.idle.kept-without-waiters")
async def test_a_holder_that_rests_loses_the_lock_to_who_waits(tmp_path: Path) -> None:
    settings = {"sessions.lock_answer": "10m", "sessions.lock_idle": "300ms"}
    async with obedient_daemon(tmp_path, settings=settings) as daemon:
        session = await new_session(daemon, daemon.work)
        async with typist(daemon, session, "ann") as ann, typist(daemon, session, "ben") as ben:
            await ann.say("say hello")
            await ben.until(lambda one: bool(one.events) and is_idle(one.events[-1]))
            await ben.holds("ann")
            assert await ben.client.input_lock.request(session) == LockAnswer(granted=True, previous_holder="ann")


async def test_an_asker_that_leaves_asks_no_longer(daemon: Daemon, tmp_path: Path) -> None:
    session = await new_session(daemon, tmp_path)
    async with typist(daemon, session, "ann") as ann:
        await ann.say("say hello")
        async with caller(daemon, "ben") as ben, anyio.create_task_group() as tasks:
            asking = Asking()
            tasks.start_soon(asking.run, ben, session)
            await ann.asked_by("ben")
            asking.scope.cancel()
        assert [*(await ann.asked_by("")).waiting_client_ids] == []
        with pytest.raises(ClientError) as error:
            await ann.client.input_lock.answer(session, "ben", grant=True)
        assert error.value.code == "INVALID_REQUEST"
        await ann.say("say still mine")


async def test_who_takes_its_question_back_waits_no_longer_and_stays(daemon: Daemon, tmp_path: Path) -> None:
    session = await new_session(daemon, tmp_path)
    async with typist(daemon, session, "ann") as ann, typist(daemon, session, "ben") as ben:
        await ann.say("say hello")
        await ben.holds("ann")
        asking = Asking()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(asking.run, ben.client, session)
            await ann.asked_by("ben")
            asking.scope.cancel()
        assert [*(await ann.asked_by("")).waiting_client_ids] == []
        assert ben.holder == "ann"


async def test_one_message_over_two_streams_at_once_is_one_message(
    daemon: Daemon, agent: Agent, tmp_path: Path
) -> None:
    session = await new_session(daemon, tmp_path)
    start = v1.StartConversation(session_id=session)
    async with conversation(agent, start) as one, conversation(agent, start) as two:
        await one.next()
        await two.next()
        key = new_message_id()
        async with anyio.create_task_group() as tasks:
            for stream in (one, two):
                tasks.start_soon(stream.say, "say once", key)
        for stream in (one, two):
            seen = await stream.until(is_idle)
            assert [event.user_input.message_id for event in seen if kind_of(event) == "user_input"] == [key]
            assert "error" not in map(kind_of, seen)
        # One stream of the client ends and the other one keeps its lock.
        one.call.cancel()
        async with typist(daemon, session, "ben") as ben:
            await ben.until(lambda one: one.present.keys() == {"tester", "ben"})
            assert ben.holder == "tester"


@pytest.mark.parametrize("end", ["close", "delete"])
async def test_a_lock_request_ends_with_the_session(daemon: Daemon, tmp_path: Path, end: str) -> None:
    session = await new_session(daemon, tmp_path)
    asking = Asking()
    async with typist(daemon, session, "ann") as ann, caller(daemon, "ben") as ben:
        await ann.say("say hello")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(asking.run, ben, session)
            await ann.asked_by("ben")
            await (ben.close(session) if end == "close" else ben.delete(session))
        assert asking.error is not None
        assert asking.error.code == "SESSION_CLOSED"
        with pytest.raises(ClientError) as error:
            await ben.input_lock.request(session)
        assert error.value.code == ("SESSION_CLOSED" if end == "close" else "SESSION_NOT_FOUND")


@pytest.mark.behaviour("input-lock.request.unknown-session")
async def test_the_lock_of_no_session_cannot_be_had(daemon: Daemon) -> None:
    async with caller(daemon, "ben") as ben:
        with pytest.raises(ClientError) as error:
            await ben.input_lock.request(new_session_id())
    assert (error.value.status, error.value.code) == (grpc.StatusCode.NOT_FOUND, "SESSION_NOT_FOUND")


async def test_scripts_that_only_call_lock_nobody_out(daemon: Daemon, agent: Agent, tmp_path: Path) -> None:
    session = await new_session(daemon, tmp_path)
    async with caller(daemon, "one") as one, caller(daemon, "two") as two:
        for client, text in ((one, "say 1"), (two, "say 2"), (one, "say 3")):
            await client.send(session, text)
        nameless = v1.SubmitRequest(session_id=session, request=message("say 4"))
        await agent.Submit(nameless)
    async with typist(daemon, session, "watcher") as watcher:
        assert watcher.holder == ""
        await watcher.until(lambda one: one.heard == ["say 1", "say 2", "say 3", "say 4"])


async def test_a_message_refused_on_a_stream_is_not_sent_again_by_the_client(daemon: Daemon, tmp_path: Path) -> None:
    session = await new_session(daemon, tmp_path)
    async with typist(daemon, session, "ann") as ann, caller(daemon, "ben") as ben:
        await ann.say("say hello")
        talk = ben.converse(session)
        async with aclosing(talk.events()) as events:
            await anext(events)
            refused = await talk.say("say no")
            with anyio.fail_after(PATIENCE_S):
                async for event in events:
                    if kind_of(event) == "error":
                        break
            assert event.error.details["message_id"] == refused
            assert talk.unacknowledged == ()


async def test_a_daemon_that_stops_ends_the_asking_politely(tmp_path: Path) -> None:
    async with obedient_daemon(tmp_path) as daemon:
        session = await new_session(daemon, daemon.work)
        async with typist(daemon, session, "ann") as ann, daemon.agent_service() as agent:
            await ann.say("say hello")
            call = agent.RequestInputLock(v1.InputLockRequest(session_id=session), metadata=(("x-client-id", "ben"),))
            await ann.asked_by("ben")
            assert await daemon.stop() == 0
            assert await call.code() is grpc.StatusCode.UNAVAILABLE
