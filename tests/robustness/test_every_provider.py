"""What is promised of a session is promised whatever agent it has: what differs, the capability table says."""

import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest

from betcode.holder.launch import holder_pid
from betcode.v1 import agent_pb2 as v1
from support.daemon.runs import gone
from support.daemon.session import Talk, assert_whole, is_idle, kinds, settled_text, states_of
from support.patience import PATIENCE_S
from support.plugins.wide import FROM_NPM, wide_where
from support.providers.worlds import LAST_WORDS, WORLDS, ProviderWorld

pytestmark = pytest.mark.anyio


@pytest.fixture(params=wide_where(WORLDS, FROM_NPM.__contains__))
async def world(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[ProviderWorld]:
    async with WORLDS[request.param](tmp_path) as opened:
        yield opened


def marks(world: ProviderWorld) -> int:
    """How often the tool has done its work."""
    path = world.daemon.work / "marks"
    return len(path.read_text().splitlines()) if path.exists() else 0


def asks_or_rests(event: v1.AgentEvent) -> bool:
    return event.HasField("permission_request") or is_idle(event)


async def allow_all(talk: Talk) -> None:
    """Whatever is asked from here on, until the agent rests."""
    while not is_idle((await talk.until(asks_or_rests))[-1]):
        await talk.answer(talk.events[-1].permission_request, allow=True)


async def kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
    await gone(pid)


async def test_a_stream_cut_after_every_event_of_a_turn_misses_nothing(world: ProviderWorld) -> None:
    talk = await world.session()
    await talk.say(world.uses_a_tool)
    await allow_all(talk)
    assert marks(world) == 1
    got: list[v1.AgentEvent] = []
    async with world.daemon.agent_service() as stub:
        with anyio.fail_after(PATIENCE_S):
            while len(got) < len(talk.events):
                after = got[-1].sequence if got else 0
                call = stub.ResumeSession(v1.ResumeSessionRequest(session_id=talk.session_id, from_sequence=after))
                async for event in call:
                    if event.sequence:
                        got.append(event)
                        break
                call.cancel()
    assert got == talk.events
    assert_whole(got)


async def test_a_daemon_killed_while_a_person_is_asked_loses_and_repeats_nothing(world: ProviderWorld) -> None:
    talk = await world.session()
    message = await talk.say(world.uses_a_tool)
    request = await talk.asked()
    world.daemon.kill()
    await world.daemon.start()
    await talk.answer(request, allow=True)
    world.daemon.kill()
    await world.daemon.start()
    await allow_all(talk)
    assert marks(world) == 1
    assert kinds(talk.events).count("turn_complete") == 1
    assert states_of(talk.events, message.message_id)[-1] == "CONSUMED"
    assert LAST_WORDS in settled_text(talk.events)
    assert len(world.runs) == 1, "the agent never noticed"
    assert_whole(talk.events)


@pytest.mark.parametrize("victim", ["agent", "holder"])
async def test_an_agent_killed_while_a_person_is_asked_does_as_its_table_says(
    world: ProviderWorld, victim: str
) -> None:
    talk = await world.session()
    message = await talk.say(world.uses_a_tool)
    await talk.asked()
    run = world.runs[-1]
    agent = run.agent_pid
    holder = holder_pid(run.directory)
    assert holder is not None
    await kill(agent if victim == "agent" else holder)
    await gone(agent)
    await talk.until("error")
    await allow_all(talk)
    able = await world.capabilities(talk)
    goes_on = able.continues_broken_turn or able.recognises_repeats
    assert marks(world) == (1 if goes_on else 0)
    assert states_of(talk.events, message.message_id)[-1] == ("CONSUMED" if goes_on else "UNKNOWN")
    assert kinds(talk.events).count("turn_complete") == 1
    await talk.say(world.talks)
    await allow_all(talk)
    assert "Here I am." in settled_text(talk.events)
    assert_whole(talk.events)
