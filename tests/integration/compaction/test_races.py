"""A compaction and something else at the same time: each pair has one outcome."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import TypeVar

import anyio
import pytest

from betcode.client import Client, ClientError, Refused, open_client
from betcode.v1 import agent_pb2 as v1
from support.daemon.compaction import Place, a_place, boundary_of, is_compacting, read
from support.daemon.process import Daemon, agent_program, becomes_true, obedient_daemon, running_daemon
from support.daemon.runs import gone
from support.daemon.session import assert_whole, is_idle, kinds, settled_text, states_of
from support.patience import PATIENCE_S
from support.providers.claude_world import obedient_talk
from support.rounds.rounds import mindful_program

pytestmark = pytest.mark.anyio
ValueT = TypeVar("ValueT")


class Asked:
    """A call of CompactSession that is under way."""

    def __init__(self) -> None:
        self.done: v1.CompactSessionResponse | None = None
        self.error: ClientError | None = None

    async def ask(self, client: Client, session_id: str) -> None:
        try:
            with anyio.fail_after(2 * PATIENCE_S):
                self.done = await client.compact(session_id)
        except ClientError as error:
            self.error = error

    @property
    def code(self) -> str:
        assert self.error is not None, self.done
        return self.error.code


@pytest.fixture(scope="module")
async def daemon(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Daemon]:
    async with obedient_daemon(tmp_path_factory.mktemp("races")) as daemon:
        yield daemon


@pytest.fixture
async def client(daemon: Daemon) -> AsyncIterator[Client]:
    async with open_client(daemon.paths) as client:
        yield client


@pytest.fixture
async def place(daemon: Daemon, client: Client, tmp_path: Path) -> Place:
    """An agent that compacts when the file `go` appears."""
    place = await a_place(daemon, client, tmp_path, "say one")
    place.direct("wait go")
    return place


async def at_work(place: Place) -> None:
    """The agent itself has begun."""
    await place.talk.until(is_compacting)
    await place.talk.until(is_compacting)


async def test_a_message_that_comes_meanwhile_runs_afterwards(place: Place) -> None:
    talk, asked = place.talk, Asked()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(asked.ask, talk.client, talk.session_id)
        await at_work(place)
        message = await talk.say("say two")
        place.let_go()
    assert asked.done is not None
    assert asked.done.messages_before == 3  # the message that waits is stored already
    await talk.until(lambda event: event.text_delta.is_complete)
    events = [event for event in talk.events if event.sequence >= message.sequence]
    order = [kind for kind in kinds(events) if kind in ("user_input", "compaction", "text_delta")]
    assert order[:3] == ["user_input", "compaction", "text_delta"]
    await talk.until(is_idle)
    assert states_of(talk.events, message.message_id) == ["DELIVERED", "CONSUMED"]
    assert_whole(talk.events)


@pytest.mark.behaviour("compaction.active-refused")
async def test_a_message_that_came_first_goes_first(place: Place) -> None:
    talk = place.talk
    await talk.say("wait later")
    with pytest.raises(Refused) as caught:
        await talk.client.compact(talk.session_id)
    assert caught.value.code == "SESSION_ACTIVE"
    place.let_go("later")
    await talk.until(is_idle)
    assert "compaction" not in kinds(talk.events)


async def test_two_at_once_are_one_compaction_with_one_answer(place: Place) -> None:
    talk, first, second = place.talk, Asked(), Asked()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(first.ask, talk.client, talk.session_id)
        tasks.start_soon(second.ask, talk.client, talk.session_id)
        await at_work(place)
        for _ in range(5):
            await talk.summary()  # time for both to arrive; one that comes later finds nothing to compact
        place.let_go()
    saved = {(asked.done.messages_before, asked.done.messages_after) for asked in (first, second) if asked.done}
    assert (2, 1) in saved <= {(2, 1), (1, 1)}
    assert first.error is second.error is None
    await talk.until(is_idle)
    boundary_of(talk.events)


async def test_a_caller_that_leaves_does_not_stop_it(place: Place) -> None:
    talk = place.talk
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(talk.client.compact, talk.session_id)
        await at_work(place)
        tasks.cancel_scope.cancel()
    place.let_go()
    assert boundary_of(await talk.until(is_idle)).messages_after == 1


async def test_cancelled_it_fails_and_the_session_is_as_before(place: Place) -> None:
    talk, asked = place.talk, Asked()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(asked.ask, talk.client, talk.session_id)
        await at_work(place)
        assert await talk.client.cancel(talk.session_id)
    assert asked.code == "COMPACTION_FAILED"
    assert asked.error is not None
    assert asked.error.details["reason"] == "it was cancelled"
    events = await talk.until(is_idle)
    assert [e.turn_complete.stop_reason for e in events if e.HasField("turn_complete")] == ["cancelled"]
    assert not {"compaction", "error"} & set(kinds(talk.events))
    assert settled_text(await talk.turn("say two")) == "two"


@pytest.mark.behaviour("compaction.failure", "cancel.turn-complete")
async def test_cancelled_before_its_agent_begins_it_ends_and_the_agent_stays(tmp_path: Path) -> None:
    settings = {"agents": {"idle_retire": "50ms"}, "cancel": {"interrupt": "10m"}}
    async with (
        running_daemon(tmp_path / "home", settings=settings, claude_bin=mindful_program(tmp_path)) as daemon,
        open_client(daemon.paths) as client,
    ):
        talk = await obedient_talk(daemon, client, BETCODE_MINDFUL_BEGINS="begin")
        (daemon.work / "begin").touch()
        await talk.turn("say one")
        await talk.summary_when(lambda one: one.run_state == "exited")
        daemon.reload({"cancel": settings["cancel"]})  # the next one stays, however long a message takes
        (daemon.work / "begin").unlink()
        asked = Asked()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(asked.ask, client, talk.session_id)
            await talk.until(lambda event: event.message_state.state == v1.MESSAGE_STATE_DELIVERED)
            assert await client.cancel(talk.session_id, cancel_queued=True)
        assert (asked.code, asked.error and asked.error.details["reason"]) == ("COMPACTION_FAILED", "it was cancelled")
        events = await talk.until(is_idle)
        assert [e.turn_complete.stop_reason for e in events if e.HasField("turn_complete")] == ["cancelled"]
        (daemon.work / "begin").touch()
        assert settled_text(await talk.turn("say two")) == "two"
        assert len(daemon.agent_pids) == 2, "the agent that let go of it was not ended"
        assert_whole(talk.events)


@pytest.mark.behaviour("compaction.failure")
async def test_an_agent_that_does_not_begin_with_it_has_failed_it(place: Place) -> None:
    talk, asked = place.talk, Asked()
    place.direct("decline")
    await asked.ask(talk.client, talk.session_id)
    assert asked.code == "COMPACTION_FAILED"
    assert asked.error is not None
    assert "before it started" in asked.error.details["reason"]
    events = await talk.until(is_idle)
    assert [e.turn_complete.stop_reason for e in events if e.HasField("turn_complete")] == ["error"]
    assert (await talk.summary()).status == "idle"
    assert settled_text(await talk.turn("say two")) == "two"
    place.direct()
    assert (await talk.client.compact(talk.session_id)).messages_after == 1
    assert len((place.work / "agent.pids").read_text().split()) == 1


@pytest.mark.parametrize(
    ("how", "code", "state"),
    [
        ("cancel", "COMPACTION_FAILED", "CONSUMED"),
        ("cancel all", "COMPACTION_FAILED", "CANCELLED"),
        ("close", "SESSION_CLOSED", "CANCELLED"),
    ],
)
async def test_a_compaction_that_ends_before_delivery_decides_the_next_message(
    tmp_path: Path, how: str, code: str, state: str
) -> None:
    settings = {"agents": {"turn_limit": 1, "idle_retire": "50ms"}}
    async with obedient_daemon(tmp_path, settings=settings) as daemon, open_client(daemon.paths) as client:
        place = await a_place(daemon, client, tmp_path / "here", "say one")
        await place.talk.summary_when(lambda one: one.run_state == "exited")
        other = await a_place(daemon, client, tmp_path / "there")
        await other.talk.say("wait go")
        await other.talk.until(lambda event: event.text_delta.text == "waiting")
        talk, asked = place.talk, Asked()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(asked.ask, client, talk.session_id)
            await talk.until(is_compacting)
            message = await talk.say("say two")
            if how == "close":
                await client.close(talk.session_id)
            else:
                assert await client.cancel(talk.session_id, cancel_queued=how == "cancel all")
        assert asked.code == code
        other.let_go()
        ended = {"CONSUMED": v1.MESSAGE_STATE_CONSUMED, "CANCELLED": v1.MESSAGE_STATE_CANCELLED}[state]
        await talk.until(lambda event: event.message_state.state == ended)
        assert states_of(talk.events, message.message_id)[-1] == state
        assert "compaction" not in kinds(talk.events)
        await talk.summary_when(lambda one: one.status == ("closed" if how == "close" else "idle"))


@pytest.mark.parametrize("how", ["close", "delete"])
async def test_closed_or_deleted_meanwhile_it_ends_with_the_session(place: Place, how: str) -> None:
    talk, asked = place.talk, Asked()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(asked.ask, talk.client, talk.session_id)
        await at_work(place)
        await (talk.client.close if how == "close" else talk.client.delete)(talk.session_id)
    assert asked.code == "SESSION_CLOSED"


@pytest.mark.behaviour("compaction.failure", "error.code.compaction-failed")
async def test_an_agent_crash_fails_the_compaction_and_the_next_message_runs(place: Place) -> None:
    talk, asked = place.talk, Asked()
    place.direct("wait go", "die")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(asked.ask, talk.client, talk.session_id)
        await at_work(place)
        message = await talk.say("say two")
        place.let_go()
    assert asked.code == "COMPACTION_FAILED"
    events = await talk.until(is_idle)
    assert [e.error.code for e in events if e.HasField("error")] == ["COMPACTION_FAILED"]
    assert states_of(events, message.message_id) == ["DELIVERED", "CONSUMED"]
    assert settled_text(events) == "two"
    assert_whole(talk.events)


async def test_an_agent_that_had_gone_home_is_started_for_it(tmp_path: Path) -> None:
    async with obedient_daemon(tmp_path, settings={"agents": {"idle_retire": "50ms"}}) as daemon:
        async with open_client(daemon.paths) as client:
            place = await a_place(daemon, client, tmp_path / "here", "say one")
            await becomes_true(lambda: len([one for one in daemon.processes() if one.pid != daemon.pid]) == 0)
            assert (await client.compact(place.talk.session_id)).messages_after == 1
        assert len((place.work / "agent.pids").read_text().split()) == 2


async def test_an_agent_that_is_not_there_any_more_is_named(tmp_path: Path) -> None:
    async with obedient_daemon(tmp_path) as daemon, open_client(daemon.paths) as client:
        place = await a_place(daemon, client, tmp_path / "here", "say one")
        await daemon.stop()
        agent_program(tmp_path).unlink()
        await daemon.start()
        asked = Asked()
        await asked.ask(client, place.talk.session_id)
        assert asked.code == "AGENT_UNAVAILABLE"
        assert (await place.talk.summary()).status == "idle"


async def test_an_agent_that_does_not_start_fails_it(tmp_path: Path) -> None:
    async with obedient_daemon(tmp_path) as daemon, open_client(daemon.paths) as client:
        place = await a_place(daemon, client, tmp_path / "here", "say one")
        await daemon.stop()
        agent_program(tmp_path).write_text("#!/bin/sh\necho no such flag >&2\nexit 2\n")
        await daemon.start()
        asked = Asked()
        await asked.ask(client, place.talk.session_id)
        assert asked.code == "COMPACTION_FAILED"
        assert (await place.talk.summary()).status == "idle"
        agent_program(tmp_path)
        assert (await client.compact(place.talk.session_id)).messages_after == 1


async def test_a_compaction_survives_a_daemon_restart_and_its_caller_gets_the_result(tmp_path: Path) -> None:
    async with (
        obedient_daemon(tmp_path) as daemon,
        open_client(daemon.paths, sleep=daemon.until_it_serves) as client,
    ):
        place = await a_place(daemon, client, tmp_path / "here", "say one")
        place.direct("wait go")
        talk, asked = place.talk, Asked()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(asked.ask, talk.client, talk.session_id)
            await at_work(place)
            await daemon.restart()
            second = Asked()
            tasks.start_soon(second.ask, talk.client, talk.session_id)  # waits for the same one
            for _ in range(5):
                await talk.summary()  # time for it to arrive; if it comes later, it finds nothing to compact
            place.let_go()
        assert second.error is None
        assert asked.done is not None, asked.error
        assert (asked.done.messages_before, asked.done.messages_after) == (2, 1)
        await talk.until(is_idle)
        boundary_of(talk.events)
        assert_whole(talk.events)
        assert len((place.work / "agent.pids").read_text().split()) == 1


@pytest.mark.parametrize("step", ["after-compaction-asked", "after-hand-over", "after-reading"])
async def test_a_daemon_killed_at_any_step_leaves_it_done_once(tmp_path: Path, step: str) -> None:
    async with obedient_daemon(tmp_path) as daemon, open_client(daemon.paths) as client:
        place = await a_place(daemon, client, tmp_path / "here", "say one")
        await daemon.stop()
        await daemon.start(BETCODE_FAULT=f"{step}:1")
        with anyio.fail_after(PATIENCE_S):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(Asked().ask, client, place.talk.session_id)
                await daemon.ended()
                await daemon.start()
        events = await place.talk.until("compaction")
        await place.talk.summary_when(lambda one: one.status == "idle")
        newest = (await place.talk.summary()).last_sequence
        boundary_of(await read(client, place.talk.session_id, newest, whole=True))
        assert events[-1].compaction.messages_after == 1


async def test_an_agent_that_ended_while_no_daemon_ran_has_failed_it(tmp_path: Path) -> None:
    async with obedient_daemon(tmp_path) as daemon, open_client(daemon.paths) as client:
        place = await a_place(daemon, client, tmp_path / "here", "say one")
        place.direct("wait go", "die")
        talk = place.talk
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(Asked().ask, talk.client, talk.session_id)
            await at_work(place)
            daemon.kill()
            tasks.cancel_scope.cancel()
        place.let_go()
        await gone(int((place.work / "agent.pids").read_text()))
        await daemon.start()
        events = await talk.until(is_idle)
        assert [e.error.code for e in events if e.HasField("error")] == ["COMPACTION_FAILED"]
        place.direct()
        assert (await client.compact(talk.session_id)).messages_after == 1


async def test_one_that_is_asked_for_while_a_cancelled_agent_makes_way_is_no_rest(tmp_path: Path) -> None:
    settings = {"cancel": {"interrupt": "100ms", "sigint": "10m", "term": "1s"}}
    async with obedient_daemon(tmp_path, settings=settings) as daemon, open_client(daemon.paths) as client:
        place = await a_place(daemon, client, tmp_path / "here", "say one")
        talk = place.talk
        await talk.say("deaf\nignore SIGTERM\npolite stays\nwait never")
        await talk.until(lambda event: event.text_delta.text == "waiting")
        await client.cancel(talk.session_id)
        await talk.until(is_idle)
        with anyio.fail_after(PATIENCE_S):
            await client.compact(talk.session_id)
        events = await talk.until("compaction")
        begun = next(place for place, event in enumerate(events) if is_compacting(event))
        assert not any(is_idle(event) for event in events[begun:])
        await talk.until(is_idle)
        assert_whole(talk.events)


async def test_a_compaction_requested_during_agent_replacement_is_not_reported_idle(tmp_path: Path) -> None:
    settings = {"cancel": {"interrupt": "100ms", "sigint": "10s", "term": "1s"}}
    async with obedient_daemon(tmp_path, settings=settings) as daemon, open_client(daemon.paths) as client:
        talk = (await a_place(daemon, client, tmp_path / "here", "say one")).talk
        await talk.say("polite stops\ndeaf\nwait never")  # so that it is still there after its turn
        await talk.until(lambda event: event.text_delta.text == "waiting")
        await client.cancel(talk.session_id)
        await talk.until(is_idle)
        asked = Asked()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(asked.ask, client, talk.session_id)
            await talk.until(is_compacting)
        assert asked.done is not None
        events = await talk.until(is_idle)
        assert "compaction" in kinds(events)
