"""Several sessions at once: slots, the line behind them, memory, environments, retirement."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from betcode.client import NewConversation, open_client
from betcode.client.errors import ClientError
from betcode.v1 import agent_pb2 as v1
from support.daemon.process import Daemon, obedient_daemon
from support.daemon.runs import gone, lives
from support.daemon.session import Talk, is_idle, settled_text, states_of
from support.providers.claude_world import obedient_talk

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def sessions(root: Path, amount: int, **agents: object) -> AsyncIterator[tuple[Daemon, list[Talk]]]:
    """A daemon with these settings, and so many sessions in it."""
    async with obedient_daemon(root, settings={"agents": agents}) as daemon, open_client(daemon.paths) as client:
        yield daemon, [await obedient_talk(daemon, client) for _ in range(amount)]


def waits(event: v1.AgentEvent) -> bool:
    return event.text_delta.text == "waiting"


async def test_past_the_limit_a_turn_waits_visibly_and_begins_when_another_ends(tmp_path: Path) -> None:
    async with sessions(tmp_path, 2, turn_limit=1) as (daemon, (first, second)):
        await first.say("wait go")
        await first.until(waits)
        message = await second.say("say my turn")
        told = (await second.until("message_state"))[-1].message_state
        assert (told.message_id, told.state) == (message.message_id, v1.MESSAGE_STATE_ACCEPTED)
        assert "Waiting for a free slot" in told.reason
        assert (await second.summary()).waiting_for == "slot"
        assert len(daemon.agent_pids) == 1
        (daemon.work / "go").touch()
        assert "my turn" in settled_text(await second.until(is_idle))
        assert (await second.summary()).waiting_for == ""


async def test_an_agent_that_waits_for_a_person_lends_its_slot_and_takes_one_when_answered(tmp_path: Path) -> None:
    async with sessions(tmp_path, 2, turn_limit=1) as (daemon, (asking, other)):
        await asking.say("tool\nsay done")
        request = await asking.asked()
        assert (await asking.summary_when(lambda summary: summary.waiting_for == "person")).pending_prompts == 1
        await other.say("wait go")
        await other.until(waits)  # the slot was free
        await asking.answer(request, allow=True)
        assert (await asking.summary_when(lambda summary: summary.waiting_for == "slot")).status == "active"
        assert not (daemon.work / "ran.txt").exists(), "answered, but not at work yet"
        (daemon.work / "go").touch()
        assert "done" in settled_text(await asking.until(is_idle))
        assert len((daemon.work / "ran.txt").read_text().splitlines()) == 1


@pytest.mark.behaviour("error.code.pool-exhausted")
async def test_where_the_line_is_full_a_message_is_refused_and_nothing_of_it_stays(tmp_path: Path) -> None:
    async with sessions(tmp_path, 2, turn_limit=1, queue_limit=0) as (daemon, (first, second)):
        await first.say("wait go")
        await first.until(waits)
        async with daemon.agent_service() as stub:
            call = stub.Submit(
                v1.SubmitRequest(
                    session_id=second.session_id,
                    request=v1.AgentRequest(message=v1.UserMessage(content="say no")),
                )
            )
            with pytest.raises(Exception, match="Subprocess pool at capacity"):
                await call
        (daemon.work / "go").touch()
        await first.until(is_idle)
        summary = await second.summary()
        assert (summary.status, summary.message_count) == ("new", 0)
        assert "now" in settled_text(await second.turn("say now"))


async def test_when_memory_is_short_the_longest_idle_agent_is_retired_and_a_working_one_never(tmp_path: Path) -> None:
    # One agent under its holder has some 25 MB, so that one fits and two do not.
    async with sessions(tmp_path, 3, memory_limit="20MB") as (daemon, (first, second, third)):
        await first.turn("say one")
        await second.turn("say two")
        await first.summary_when(lambda summary: summary.run_state == "exited")
        await second.say("wait go")
        await second.until(waits)

        async def at_once(_seconds: float) -> None:
            """Try again without waiting."""

        async with open_client(daemon.paths, sleep=at_once) as hasty:
            with pytest.raises(ClientError, match="none of them is idle") as refused:
                await hasty.send(third.session_id, "say three")
        assert refused.value.code == "POOL_EXHAUSTED"
        assert (await third.summary()).message_count == 0
        (daemon.work / "go").touch()
        await second.until(is_idle)
        assert "three" in settled_text(await third.turn("say three"))


@pytest.mark.behaviour("launch.session-id-first", "launch.resume-later", "lifecycle.run.stays-after-turn")
async def test_an_idle_agent_is_retired_and_the_next_message_resumes_its_conversation(tmp_path: Path) -> None:
    async with sessions(tmp_path, 1) as (daemon, (talk,)):
        first = json.loads(settled_text(await talk.turn("argv")))
        again = json.loads(settled_text(await talk.turn("argv")))
        assert again == first, "the same process took the second turn"
        assert len(daemon.agent_pids) == 1
        assert f"--session-id={talk.session_id}" in first
        daemon.reload({"agents": {"idle_retire": "50ms"}})
        await talk.summary_when(lambda summary: summary.run_state == "exited")
        resumed = json.loads(settled_text(await talk.turn("argv")))
        assert f"--resume={talk.session_id}" in resumed
        assert not any(argument.startswith("--session-id") for argument in resumed)
        assert len(daemon.agent_pids) == 2
        assert not [event for event in talk.events if event.HasField("error")]


async def test_past_the_warm_limit_the_longest_idle_agent_is_ended(tmp_path: Path) -> None:
    async with sessions(tmp_path, 3, warm_limit=2) as (_, (first, second, third)):
        await first.turn("say one")
        await second.turn("say two")
        await third.say("ask")
        await third.until("user_question")
        assert (await first.summary()).run_state == "running", "who waits for a person does not count"
        await first.turn("say one again")
        fourth = Talk(third.client, await third.client.start_session(NewConversation(str(tmp_path), provider="claude")))
        await fourth.turn("say four")
        await second.summary_when(lambda summary: summary.run_state == "exited")
        assert (await first.summary()).run_state == "running"
        assert (await third.summary()).run_state == "running"


@pytest.mark.behaviour("launch.environment")
async def test_a_session_keeps_the_environment_of_the_client_that_made_it(tmp_path: Path) -> None:
    async with (
        obedient_daemon(tmp_path, settings={"agents": {"idle_retire": "0.2s"}}) as daemon,
        open_client(daemon.paths) as client,
    ):
        talk = await obedient_talk(daemon, client, LC_MESSAGES="of-my-own")
        assert settled_text(await talk.turn("env LC_MESSAGES")) == "of-my-own"
        await talk.summary_when(lambda summary: summary.run_state == "exited")
        await daemon.restart()
        assert settled_text(await talk.turn("env LC_MESSAGES")) == "of-my-own"
        assert "of-my-own" not in daemon.log


async def test_a_session_without_an_environment_gets_the_login_shells(tmp_path: Path) -> None:
    async with obedient_daemon(tmp_path) as daemon, open_client(daemon.paths) as client:
        session = await client.start_session(NewConversation(str(daemon.work), provider="claude"))
        talk = Talk(client, session)
        assert settled_text(await talk.turn("env PATH")) != ""


@pytest.mark.behaviour("converse.turn.messages-merge", "launch.one-process-per-session")
async def test_messages_sent_during_a_turn_are_taken_and_each_ones_fate_is_told(tmp_path: Path) -> None:
    async with sessions(tmp_path, 1) as (daemon, (talk,)):
        first = await talk.say("wait go")
        await talk.until(waits)
        second = await talk.say("say two")
        third = await talk.say("say three")
        (daemon.work / "go").touch()
        await talk.until(lambda event: third.message_id in event.turn_complete.message_ids)
        await talk.until(is_idle)
        for message in (first, second, third):
            assert states_of(talk.events, message.message_id) == ["DELIVERED", "CONSUMED"]
        assert len(daemon.agent_pids) == 1
        assert (await talk.summary()).status == "idle"


async def test_the_same_message_sent_again_is_not_run_again_and_another_under_its_id_is_refused(tmp_path: Path) -> None:
    async with sessions(tmp_path, 1) as (daemon, (talk,)):
        accepted = await talk.say("tool\nsay once")
        await talk.answer(await talk.asked(), allow=True)
        await talk.until(is_idle)
        message = v1.UserMessage(content="tool\nsay once", idempotency_key=accepted.message_id)
        request = v1.SubmitRequest(session_id=talk.session_id, request=v1.AgentRequest(message=message))
        async with daemon.agent_service() as stub:
            again = await stub.Submit(request)
            assert (again.message_id, again.sequence) == (accepted.message_id, accepted.sequence)
            message.content = "say something else"
            request.request.message.CopyFrom(message)
            with pytest.raises(Exception, match="used for another message"):
                await stub.Submit(request)
        assert len((daemon.work / "ran.txt").read_text().splitlines()) == 1
        assert (await talk.summary()).status == "idle"


async def test_a_clean_stop_sends_idle_agents_home_and_leaves_those_at_work(tmp_path: Path) -> None:
    async with sessions(tmp_path, 2) as (daemon, (idle, working)):
        await idle.turn("say done")
        await working.say("wait go")
        await working.until(waits)
        idle_agent, working_agent = daemon.agent_pids
        assert await daemon.stop() == 0
        await gone(idle_agent)
        assert lives(working_agent)
        await daemon.start()
        (daemon.work / "go").touch()
        await working.until(is_idle)
        assert working_agent == daemon.agent_pids[-1], "the same process finished its turn"
        assert not [event for event in idle.events if event.HasField("error")]


async def test_a_state_directory_with_odd_characters_in_its_name_serves(tmp_path: Path) -> None:
    async with obedient_daemon(tmp_path / "100% #odd? name") as daemon, open_client(daemon.paths) as client:
        talk = await obedient_talk(daemon, client)
        assert "here" in settled_text(await talk.turn("say here"))
