"""An agent that gives no sign of life in the middle of a turn is ended, and the turn goes on with another."""

import os
import signal
from pathlib import Path

import pytest

from betcode.client import open_client
from betcode.v1 import agent_pb2 as v1
from support.daemon import agent_program, running_daemon
from support.runs import gone
from support.talk import assert_whole, is_idle, settled_text
from support.world import obedient_talk

pytestmark = pytest.mark.anyio


def waits(event: v1.AgentEvent) -> bool:
    return event.text_delta.text == "waiting"


def errors(events: list[v1.AgentEvent]) -> list[v1.ErrorEvent]:
    return [event.error for event in events if event.HasField("error")]


@pytest.mark.behaviour("recovery.hang.timeout", "recovery.hang.prompt-stops-clock", "recovery.hang.signs-of-life")
async def test_silence_is_a_hang_but_not_with_a_heartbeat_or_while_a_person_is_waited_for(tmp_path: Path) -> None:
    settings = {"agents": {"hang_after": "4s"}}
    async with (
        running_daemon(tmp_path, settings=settings, claude_bin=agent_program(tmp_path / "program")) as daemon,
        open_client(daemon.places) as client,
    ):
        asking, beating, silent = [await obedient_talk(daemon, client) for _ in range(3)]
        await asking.say("tool")
        request = await asking.asked()
        await beating.say("beat more")
        await beating.until(waits)
        await silent.say("wait more")  # the others have been without a word for longer than this one
        await silent.until(waits)
        agent = daemon.agent_pids[-1]
        events = await silent.until("error")
        assert "no sign of life for 4 s" in errors(events)[0].message
        assert errors(events)[0].code == "SUBPROCESS_CRASHED"
        await gone(agent, within_s=5)
        (daemon.work / "more").touch()
        assert "waiting" in settled_text(await silent.until(is_idle))
        assert "waiting" in settled_text(await beating.until(is_idle))
        await asking.answer(request, allow=True)
        assert "ran" in settled_text(await asking.until(is_idle))
        assert errors(asking.events) == errors(beating.events) == []
        for talk in (asking, beating, silent):
            assert_whole(talk.events)


async def test_an_agent_that_was_stopped_and_cannot_hear_a_signal_is_killed(tmp_path: Path) -> None:
    settings = {"agents": {"hang_after": "3s"}}
    async with (
        running_daemon(tmp_path, settings=settings, claude_bin=agent_program(tmp_path / "program")) as daemon,
        open_client(daemon.places) as client,
    ):
        talk = await obedient_talk(daemon, client)
        await talk.say("wait more")
        await talk.until(waits)
        os.kill(daemon.agent_pids[0], signal.SIGSTOP)
        (daemon.work / "more").touch()
        events = await talk.until(is_idle)
        assert "no sign of life" in errors(events)[0].message
        await gone(daemon.agent_pids[0], within_s=5)
