"""Cancelled and given-up turns, with an agent that continues the turn its memory ends in: none of them runs again."""

import os
import signal
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from betcode.client import Client, NewConversation, open_client
from betcode.domain.runs.crash_policy import CrashPolicy
from betcode.v1.admin_pb2 import AGENTS_AT_STOP_ALL_END
from support.daemon.process import Daemon, running_daemon
from support.daemon.runs import gone, runs_in
from support.daemon.session import Talk, ends_of, is_idle, settled_text
from support.engine.engine import EngineSession, engine
from support.rounds.facts import ledger
from support.rounds.rounds import mindful_program

pytestmark = pytest.mark.anyio

AT_ONCE = {"cancel": {"interrupt": 0.1, "sigint": 0.1, "term": 0.1}}


@dataclass
class Scene:
    """A daemon whose agent knows what it was told before it was killed, and one session of it."""

    daemon: Daemon
    talk: Talk

    @property
    def agent(self) -> int:
        return runs_in(self.daemon.paths.runs)[-1].agent_pid

    async def say_to_one_that_dies(self, text: str) -> str:
        """The agent that is given this message is killed before it takes it up."""
        (self.daemon.work / "die-early").touch()
        return (await self.talk.say(text)).message_id

    async def hung(self, text: str = "tool") -> str:
        """A message whose agent hangs while a person is asked."""
        message = (await self.talk.say(text)).message_id
        await self.talk.asked()
        os.kill(self.agent, signal.SIGSTOP)
        return message

    async def cancelled(self, text: str = "tool", *, queued: bool = False) -> str:
        """A message whose turn was cancelled while its agent hung; the agent is gone."""
        message, agent = await self.hung(text), self.agent
        assert await self.talk.client.cancel(self.talk.session_id, cancel_queued=queued)
        await self.talk.until("turn_complete")
        await gone(agent)
        return message

    def continued(self, message: str) -> bool:
        return any(noted.name == message and noted.what == "again" for noted in ledger(self.daemon.work))


@pytest.fixture
async def scene(tmp_path: Path) -> AsyncIterator[Scene]:
    async with (
        running_daemon(tmp_path / "home", claude_bin=mindful_program(tmp_path), settings=AT_ONCE) as daemon,
        open_client(daemon.paths) as client,
    ):
        yield Scene(daemon, await mindful_talk(daemon, client))


async def mindful_talk(daemon: Daemon, client: Client) -> Talk:
    new = NewConversation(str(daemon.work), provider="claude", environment=daemon.environment)
    return Talk(client, await client.start_session(new))


async def test_a_turn_cancelled_while_its_agent_hung_is_not_continued(scene: Scene) -> None:
    cancelled = await scene.cancelled()
    await scene.talk.until(is_idle)
    after = await scene.say_to_one_that_dies("say after")
    assert settled_text(await scene.talk.until(is_idle)) == "after"
    assert not scene.continued(cancelled)
    assert ends_of(scene.talk.events, cancelled) == ["CONSUMED"]
    assert ends_of(scene.talk.events, after) == ["CONSUMED"]


async def test_a_cancelled_turn_is_not_continued_by_the_agent_of_a_message_that_waited_behind_it(scene: Scene) -> None:
    cancelled = await scene.hung()
    behind = await scene.say_to_one_that_dies("say behind")
    assert await scene.talk.client.cancel(scene.talk.session_id)
    assert "behind" in settled_text(await scene.talk.until(is_idle))
    assert not scene.continued(cancelled)
    assert ends_of(scene.talk.events, cancelled) == ["CONSUMED"]
    assert ends_of(scene.talk.events, behind) == ["CONSUMED"]


async def test_a_cancelled_turn_stays_cancelled_when_daemons_are_killed_around_the_next_message(scene: Scene) -> None:
    cancelled = await scene.cancelled()
    await scene.talk.until(is_idle)
    await scene.daemon.restart()
    await scene.say_to_one_that_dies("say after")
    await scene.talk.until("error")
    await scene.daemon.restart()
    assert settled_text(await scene.talk.until(is_idle)) == "after"
    assert not scene.continued(cancelled)


async def test_a_daemon_that_is_killed_during_the_cancel_leaves_the_turn_cancelled(scene: Scene) -> None:
    cancelled = await scene.hung()
    assert await scene.talk.client.cancel(scene.talk.session_id)
    await scene.daemon.restart()
    await scene.talk.until(is_idle)
    await scene.say_to_one_that_dies("say after")
    assert settled_text(await scene.talk.until(is_idle)) == "after"
    assert not scene.continued(cancelled)
    assert ends_of(scene.talk.events, cancelled) == ["CONSUMED"]


async def test_a_turn_cancelled_while_the_next_agent_is_waited_for_is_not_continued(scene: Scene) -> None:
    cancelled = (await scene.talk.say("wait go\nsay never")).message_id
    await scene.talk.until("text_delta")
    os.kill(scene.agent, signal.SIGKILL)
    await scene.talk.until("error")
    assert await scene.talk.client.cancel(scene.talk.session_id)
    await scene.talk.until(is_idle)
    await scene.say_to_one_that_dies("say after")
    assert settled_text(await scene.talk.until(is_idle)) == "after"
    assert not scene.continued(cancelled)
    assert ends_of(scene.talk.events, cancelled) == ["CANCELLED"]


async def test_a_stopped_turn_whose_message_is_cancelled_at_rest_is_not_continued(scene: Scene) -> None:
    stopped = (await scene.talk.say("wait go\nsay never")).message_id
    await scene.talk.until("text_delta")
    await scene.talk.client.stop_daemon(scene.daemon.pid, AGENTS_AT_STOP_ALL_END)
    await scene.daemon.ended()
    await scene.daemon.start()
    await scene.talk.client.cancel(scene.talk.session_id, cancel_queued=True)
    await scene.say_to_one_that_dies("say after")
    await scene.talk.until("error")
    assert settled_text(await scene.talk.until(is_idle)) == "after"
    assert not scene.continued(stopped)
    assert ends_of(scene.talk.events, stopped) == ["CANCELLED"]


async def test_a_fork_does_not_continue_the_cancelled_turn_of_its_source(scene: Scene) -> None:
    await scene.talk.turn("say before")
    at = scene.talk.position
    cancelled = await scene.cancelled()
    made = await scene.talk.client.fork(scene.talk.session_id, at_sequence=at)
    fork = Talk(scene.talk.client, made.session_id)
    await fork.until(lambda event: event.sequence > made.at_sequence and is_idle(event))
    (scene.daemon.work / "die-early").touch()
    await fork.say("env CLAUDE_CODE_RESUME_INTERRUPTED_TURN")
    assert settled_text(await fork.until(is_idle)) == ""
    assert not scene.continued(cancelled)


async def test_a_compaction_after_a_cancelled_turn_continues_nothing(scene: Scene) -> None:
    await scene.talk.turn("say before")
    cancelled = await scene.cancelled()
    await scene.talk.client.compact(scene.talk.session_id)
    await scene.say_to_one_that_dies("say after")
    await scene.talk.until("error")
    assert settled_text(await scene.talk.until(is_idle)) == "after"
    assert not scene.continued(cancelled)


async def test_a_withdrawn_message_that_an_agent_had_is_not_run_by_a_later_one(scene: Scene) -> None:
    cancelled = await scene.hung()
    behind = (await scene.talk.say("say behind")).message_id
    await scene.talk.client.cancel(scene.talk.session_id, cancel_queued=True)
    await scene.talk.until(is_idle)
    await scene.say_to_one_that_dies("say after")
    assert settled_text(await scene.talk.until(is_idle)) == "after"
    assert not any(noted.name == behind and noted.what == "began" for noted in ledger(scene.daemon.work))
    assert not scene.continued(cancelled)
    assert ends_of(scene.talk.events, behind) == ["CANCELLED"]


async def test_messages_behind_a_broken_turn_wait_until_the_agent_was_told_to_continue_it(scene: Scene) -> None:
    await scene.cancelled()
    await scene.talk.until(is_idle)
    broken = (await scene.talk.say("wait go\nsay broken")).message_id
    await scene.talk.until("text_delta")
    behind = (await scene.talk.say("say behind")).message_id
    os.kill(scene.agent, signal.SIGKILL)
    (scene.daemon.work / "go").touch()
    await scene.talk.until(lambda event: behind in event.turn_complete.message_ids)
    said = [event.user_input.content for event in scene.talk.events if event.user_input.client_id == "betcode"]
    assert said == ["Continue from where you left off."]
    assert ends_of(scene.talk.events, broken) == ends_of(scene.talk.events, behind) == ["CONSUMED"]
    done = [noted.name for noted in ledger(scene.daemon.work) if noted.what == "did"]
    assert done.index(broken) < done.index(behind)


async def given_up(here: EngineSession) -> str:
    """A message whose turn killed every agent."""
    message = await here.say("say before\ndie")
    await here.until(is_idle)
    assert ends_of(here.events, message) == ["UNKNOWN"]
    return message


async def test_a_turn_given_up_after_crashes_is_not_continued(tmp_path: Path) -> None:
    policy = CrashPolicy(first_wait_s=0.02, longest_wait_s=0.02)
    async with engine(tmp_path, policy, program=mindful_program(tmp_path)) as here:
        message = await given_up(here)
        tried = [noted.what for noted in ledger(here.work) if noted.name == message]
        assert tried == ["began", "again", "again", "again", "again"]
        (here.work / "die-early").touch()
        await here.say("say after")
        assert settled_text(await here.until(is_idle)) == "after"
        assert [noted.what for noted in ledger(here.work) if noted.name == message] == tried
        assert ends_of(here.events, message) == ["UNKNOWN"]
        await here.supervisor.close(here.session)
