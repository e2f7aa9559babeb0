"""The bridge alone: what it says to a client of the protocol, above all after a bridge before it was killed."""

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import anyio
import pytest

from support.apis.openclaw.bridge import Talk, bridge
from support.apis.openclaw.memory import script
from support.apis.openclaw.process import StandIn

pytestmark = pytest.mark.anyio


@pytest.fixture
def stand_in(tmp_path: Path) -> Iterator[StandIn]:
    made = StandIn(tmp_path / "gateway")
    try:
        yield made
    finally:
        made.kill()


async def test_a_gateway_that_is_starting_is_waited_for(stand_in: StandIn, tmp_path: Path) -> None:
    stand_in.start(starting=2)
    async with bridge(stand_in, tmp_path / "state") as talk:
        key = await talk.new(tmp_path, model="lab/other")
        assert key.startswith("agent:main:")
        ended = await talk.prompt(script({"text": "Hello there."}), "m-1")
        assert ended.stop_reason == "end_turn"
        assert talk.heard.text == "Hello there."
        usage = await talk.heard.until("betcode/usage")
        assert (usage["inputTokens"], usage["cachedReadTokens"], usage["contextSize"]) == (800, 200, 128000)
        assert "turn started" not in talk.heard.kinds
        # The id of a message that was answered: it is not acted upon again, and nothing is said twice.
        again = await talk.prompt(script({"text": "Hello there."}), "m-1")
        assert (again.stop_reason, talk.heard.text) == ("end_turn", "Hello there.")


async def test_the_rest_of_a_run_is_shown_to_whoever_sends_its_message_again(stand_in: StandIn, tmp_path: Path) -> None:
    stand_in.start()
    gate = tmp_path / "gate"
    message = script({"text": "First.", "cmd": "echo one"}, {"text": "Half-", "wait": str(gate)}, {"text": "way."})
    key = await _killed_in_the_middle(stand_in, tmp_path, message, gate)
    async with bridge(stand_in, tmp_path / "state") as talk:
        await talk.load(tmp_path, key)
        ended = await talk.prompt(message, "m-1")
        assert ended.stop_reason == "end_turn"
        assert talk.heard.text == "Half-way."  # and not what the first one had shown
        assert "turn started" not in talk.heard.kinds


async def test_the_rest_of_a_run_is_a_turn_of_its_own_where_nobody_sends_its_message_again(
    stand_in: StandIn, tmp_path: Path
) -> None:
    stand_in.start()
    gate = tmp_path / "gate"
    message = script({"text": "Half-", "wait": str(gate)}, {"text": "way."})
    key = await _killed_in_the_middle(stand_in, tmp_path, message, gate)
    async with bridge(stand_in, tmp_path / "state") as talk:
        await talk.load(tmp_path, key)
        ended = await talk.heard.until("turn ended")
        assert ended["stopReason"] == "end_turn"
        assert talk.heard.kinds[0] == "turn started"
        assert talk.heard.text == "Half-way."
        assert (await talk.prompt(message, "m-1")).stop_reason == "end_turn"  # said too late, and known all the same
        assert talk.heard.text == "Half-way."
        assert (await talk.prompt(script({"text": "Next."}), "m-2")).stop_reason == "end_turn"


async def test_a_gateway_that_does_not_come_back_is_an_error_and_the_next_message_finds_it_again(
    stand_in: StandIn, tmp_path: Path
) -> None:
    stand_in.start()
    async with bridge(stand_in, tmp_path / "state", within_s=1) as talk:
        await stand_in.serves()
        await talk.new(tmp_path)
        async with anyio.create_task_group() as tasks:
            refused: list[object] = []

            async def ask() -> None:
                refused.append(await talk.refused(script({"text": "One", "wait": "/never"}), "m-1"))

            tasks.start_soon(ask)
            await talk.heard.until("agent_message_chunk")
            stand_in.kill()
        [trouble] = refused
        assert isinstance(trouble, dict)
        assert trouble["kind"] == "gone"
        assert "connection lost" in trouble["message"]
        stand_in.start()
        await stand_in.serves()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(talk.prompt, script({"text": "Next."}), "m-2")
            await talk.heard.until("turn started")  # the gateway went on by itself, and the message waits
            await talk.cancel()
        assert talk.heard.text == "OneOneNext."


async def _killed_in_the_middle(stand_in: StandIn, tmp_path: Path, message: str, gate: Path) -> str:
    """The key of a session whose bridge was killed while the run waited at the gate, which is open then."""
    async with bridge(stand_in, tmp_path / "state", "--permission-mode", "full") as talk:
        key = await talk.new(tmp_path)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_until_it_dies, talk, message)
            await talk.heard.until("agent_message_chunk", 2 if "First." in message else 1)
            os.kill(talk.pid, signal.SIGKILL)
    gate.touch()
    return key


async def _until_it_dies(talk: Talk, message: str) -> None:
    with suppress(ConnectionError):
        await talk.prompt(message, "m-1")
