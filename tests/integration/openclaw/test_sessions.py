"""Sessions of an OpenClaw gateway through a daemon: asked, allowed, cancelled, lost on either side and taken up."""

import json
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from websockets.asyncio.client import connect

from betcode.agents.openclaw.frames import connect_params, request
from betcode.client import Client, NewConversation, open_client
from betcode.v1 import agent_pb2 as v1
from support.apis.openclaw.memory import script
from support.apis.openclaw.process import TOKEN, StandIn
from support.daemon.process import Daemon, becomes_true, running_daemon
from support.daemon.runs import runs_in
from support.daemon.session import Talk, assert_whole, is_idle, kinds, settled_text, states_of

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
async def stand_in(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[StandIn]:
    made = StandIn(tmp_path_factory.mktemp("gateway"))
    made.start()
    await made.serves()
    try:
        yield made
    finally:
        made.kill()


@pytest.fixture(scope="module")
async def room(stand_in: StandIn, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[tuple[Daemon, Client]]:
    settings = {"agents": {"openclaw": {"url": stand_in.url, "token_file": str(stand_in.token_file)}}}
    root = tmp_path_factory.mktemp("openclaw")
    async with running_daemon(root, settings=settings) as daemon, open_client(daemon.paths) as client:
        yield daemon, client


@pytest.fixture(scope="module")
async def talk(room: tuple[Daemon, Client]) -> Talk:
    """One session for all that leaves it as it was."""
    return await _session(room)


async def _session(room: tuple[Daemon, Client]) -> Talk:
    daemon, client = room
    new = NewConversation(working_directory=str(daemon.work), provider="openclaw", environment=daemon.environment)
    return Talk(client, await client.start_session(new))


def _bridges(room: tuple[Daemon, Client]) -> list[int]:
    return [run.agent_pid for run in runs_in(room[0].paths.runs)]


async def test_a_message_is_answered_and_its_cost_is_known(room: tuple[Daemon, Client], talk: Talk) -> None:
    events = await talk.turn(script({"text": "Hello there."}))
    assert settled_text(events) == "Hello there."
    [usage] = [event.usage for event in events if event.HasField("usage")]
    assert (usage.input_tokens, usage.output_tokens, usage.cache_read_tokens) == (800, 50, 200)
    assert usage.cost_usd == pytest.approx(0.00092)
    assert list(room[0].work.iterdir()) == []  # what a gateway keeps is kept elsewhere
    assert_whole(talk.events)


async def test_a_command_runs_where_it_is_allowed_and_is_not_asked_twice(
    room: tuple[Daemon, Client], talk: Talk
) -> None:
    await talk.say(script({"cmd": "touch denied.txt"}, {"cmd": "touch once.txt"}, {"cmd": "touch once.txt"}))
    await talk.answer(await talk.asked(), allow=False)
    asked = await talk.asked()
    assert (asked.tool_name, json.loads(asked.input_json)["command"]) == ("Bash", "touch once.txt")
    await talk.client.answer_permission(asked.request_id, v1.ALLOW_SESSION)
    events = await talk.until(is_idle)
    assert "permission_request" not in kinds(events)
    assert (room[0].work / "once.txt").exists()
    assert not (room[0].work / "denied.txt").exists()
    (room[0].work / "once.txt").unlink()


async def test_a_cancelled_turn_ends_and_the_next_one_is_answered(talk: Talk, tmp_path: Path) -> None:
    await talk.say(script({"text": "One two", "wait": str(tmp_path / "never")}))
    await talk.until("text_delta")
    assert await talk.client.cancel(talk.session_id)
    events = await talk.until(is_idle)
    assert [event.turn_complete.stop_reason for event in events if event.HasField("turn_complete")] == ["cancelled"]
    assert settled_text(await talk.turn(script({"text": "Next."}))) == "Next."


async def test_an_error_of_the_model_ends_the_turn_and_no_more(talk: Talk) -> None:
    events = await talk.turn(script({"error": "the model says no"}))
    assert [event.error.message for event in events if event.HasField("error")] == ["the model says no"]
    assert settled_text(await talk.turn(script({"text": "Next."}))) == "Next."


async def test_a_killed_bridge_ends_no_run_and_the_next_one_shows_its_end(
    room: tuple[Daemon, Client], tmp_path: Path
) -> None:
    talk = await _session(room)
    gate = tmp_path / "gate"
    said = await talk.say(
        script({"text": "Begin", "wait": str(gate)}, {"cmd": "touch after.txt"}, {"text": "The end."})
    )
    await talk.until("text_delta")
    os.kill(_bridges(room)[-1], signal.SIGKILL)
    gate.touch()
    asked = await talk.asked()  # the gateway went on alone, and what it asked meanwhile is heard
    await talk.answer(asked, allow=True)
    events = await talk.until(is_idle)
    assert settled_text(events).endswith("The end.")
    assert (room[0].work / "after.txt").exists()
    assert states_of(talk.events, said.message_id).count("CONSUMED") == 1
    (room[0].work / "after.txt").unlink()


async def test_a_question_outlives_the_bridge_that_asked_it(room: tuple[Daemon, Client]) -> None:
    talk = await _session(room)
    await talk.say(script({"cmd": "touch asked.txt"}, {"text": "Done."}))
    await talk.asked()
    os.kill(_bridges(room)[-1], signal.SIGKILL)
    await talk.answer(await talk.asked(), allow=True)
    assert settled_text(await talk.until(is_idle)) == "Done."
    assert (room[0].work / "asked.txt").exists()
    (room[0].work / "asked.txt").unlink()


async def test_a_turn_continues_when_its_killed_gateway_is_back(
    room: tuple[Daemon, Client], stand_in: StandIn, tmp_path: Path
) -> None:
    talk = await _session(room)
    gate = tmp_path / "gate"
    said = await talk.say(script({"text": "First."}, {"text": "Half of", "wait": str(gate)}))
    await talk.until(lambda event: event.text_delta.text.startswith("Half"))
    stand_in.kill()
    gate.touch()
    stand_in.start(starting=2)
    events = await talk.until(is_idle)
    assert settled_text(events).endswith("Half of")
    notices = [event.notice.message for event in events if event.HasField("notice")]
    assert any("lost" in notice for notice in notices)
    assert states_of(talk.events, said.message_id).count("CONSUMED") == 1
    assert len(_bridges(room)) == len(set(_bridges(room)))


async def test_a_run_that_nobody_here_began_is_a_turn_of_the_agents_own(stand_in: StandIn, talk: Talk) -> None:
    await talk.turn(script({"text": "Here I am."}))
    key = stand_in.key_of("Here I am.")
    async with connect(stand_in.url) as socket:
        await socket.recv()
        await socket.send(request("1", "connect", connect_params(TOKEN, "0", "linux")))
        await socket.recv()
        params = {"sessionKey": key, "message": script({"text": "From elsewhere."}), "idempotencyKey": "elsewhere"}
        await socket.send(request("2", "chat.send", params))
        events = await talk.until(is_idle)
    assert settled_text(events) == "From elsewhere."
    assert [event.turn_complete.origin for event in events if event.HasField("turn_complete")] == ["agent"]


async def test_two_sessions_share_a_gateway_and_get_only_their_own_events(
    room: tuple[Daemon, Client], talk: Talk, tmp_path: Path
) -> None:
    other = await _session(room)
    gate = tmp_path / "gate"
    await talk.say(script({"text": "Mine", "wait": str(gate)}))
    await talk.until("text_delta")
    assert settled_text(await other.turn(script({"text": "Yours."}))) == "Yours."
    gate.touch()
    assert settled_text(await talk.until(is_idle)) == "Mine"


async def test_closing_a_session_ends_its_run(room: tuple[Daemon, Client], stand_in: StandIn, tmp_path: Path) -> None:
    talk = await _session(room)
    await talk.say(script({"text": "Long story", "wait": str(tmp_path / "never")}))
    await talk.until("text_delta")
    key = stand_in.key_of("Long story")
    await talk.client.close(talk.session_id)
    await becomes_true(lambda: stand_in.status_of(key) == "cancelled")
