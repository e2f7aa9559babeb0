"""An agent that gives no sign of life in the middle of a turn is ended, and the turn goes on with another."""

import json
import os
import signal
from pathlib import Path

import pytest

from betcode.client import open_client
from betcode.holder.launch import holder_pid
from betcode.v1 import agent_pb2 as v1
from support.daemon.process import agent_program, running_daemon
from support.daemon.runs import gone, runs_in
from support.daemon.session import assert_whole, is_idle, settled_text
from support.providers.claude_world import obedient_talk

pytestmark = pytest.mark.anyio

LATER_MS = 3_600_000
SOON = {"agents": {"hang_after": "3s"}}


def waits(event: v1.AgentEvent) -> bool:
    return event.text_delta.text == "waiting"


def errors(events: list[v1.AgentEvent]) -> list[v1.ErrorEvent]:
    return [event.error for event in events if event.HasField("error")]


@pytest.mark.behaviour("recovery.hang.timeout", "recovery.hang.prompt-stops-clock", "recovery.hang.signs-of-life")
async def test_silence_is_a_hang_but_not_with_a_heartbeat_nor_while_a_person_or_the_api_is_waited_for(
    tmp_path: Path,
) -> None:
    async with (
        running_daemon(tmp_path, claude_bin=agent_program(tmp_path / "program")) as daemon,
        open_client(daemon.paths) as client,
    ):
        retry = {"type": "system", "subtype": "api_retry", "attempt": 1, "max_retries": 10, "session_id": "s"}
        retry |= {"retry_delay_ms": LATER_MS, "error_status": 429, "error": "rate_limit"}
        (daemon.work / "retry").write_text(json.dumps(retry) + "\n")
        asking, beating, limited, silent, deaf, held = [await obedient_talk(daemon, client) for _ in range(6)]
        await asking.say("tool")
        request = await asking.asked()
        await limited.say("play retry\nwait more")
        await limited.until(waits)
        await beating.say("beat more")
        await beating.until(waits)
        for talk in (silent, deaf, held):  # the others have been without a word for longer than these
            await talk.say("wait more")
            await talk.until(waits)
        agents = daemon.agent_pids[-3:]
        os.kill(agents[1], signal.SIGSTOP)  # hears no SIGTERM
        (run,) = [run for run in runs_in(daemon.paths.runs) if run.agent_pid == agents[2]]
        holder = holder_pid(run.directory)
        assert holder is not None
        os.kill(holder, signal.SIGSTOP)  # and this one's holder hears nobody
        daemon.reload(SOON)
        for talk in (silent, deaf, held):
            events = await talk.until("error")
            (error,) = errors(events)
            assert (error.code, error.is_fatal) == ("SUBPROCESS_CRASHED", False)
            assert "no sign of life for 3 s" in error.message
        daemon.reload({})  # those that took their places are silent, too
        for agent in agents:
            await gone(agent)
        assert (await limited.summary()).waiting_for == "limit"
        (daemon.work / "more").touch()
        for talk in (silent, deaf, held, beating, limited):
            assert "waiting" in settled_text(await talk.until(is_idle))
        await asking.answer(request, allow=True)
        assert "ran" in settled_text(await asking.until(is_idle))
        assert errors(asking.events) == errors(beating.events) == errors(limited.events) == []
        for talk in (asking, beating, limited, silent, deaf, held):
            assert_whole(talk.events)


async def test_a_message_for_an_agent_whose_holder_is_stopped_goes_to_another(tmp_path: Path) -> None:
    async with (
        running_daemon(tmp_path, claude_bin=agent_program(tmp_path / "program")) as daemon,
        open_client(daemon.paths) as client,
    ):
        talk = await obedient_talk(daemon, client)
        await talk.turn("say one")
        (run,) = runs_in(daemon.paths.runs)
        holder = holder_pid(run.directory)
        assert holder is not None
        os.kill(holder, signal.SIGSTOP)  # between two turns: what it is handed it does not take
        daemon.reload(SOON)
        assert settled_text(await talk.turn("say two")) == "two"
        await gone(daemon.agent_pids[0])
        assert_whole(talk.events)
