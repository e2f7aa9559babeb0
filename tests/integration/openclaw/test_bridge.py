"""The bridge between a client of the Agent Client Protocol and a gateway."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from support.openclaw import StandIn
from support.openclaw_bridge import bridge
from support.openclaw_memory import script

pytestmark = pytest.mark.anyio


@pytest.fixture
def stand_in(tmp_path: Path) -> Iterator[StandIn]:
    made = StandIn(tmp_path / "gateway")
    try:
        yield made
    finally:
        made.kill()


async def test_a_message_is_answered_and_counted(stand_in: StandIn, tmp_path: Path) -> None:
    stand_in.start(starting=2)
    async with bridge(stand_in, tmp_path / "state") as talk:
        key = await talk.new(tmp_path, model="lab/other")
        assert key.startswith("agent:main:")
        ended = await talk.prompt(script({"text": "Hello there."}), "m-1")
        assert ended.stop_reason == "end_turn"
        assert talk.heard.text == "Hello there."
        usage = await talk.heard.until("betcode/usage")
        assert usage["inputTokens"] == 800
        assert usage["cachedReadTokens"] == 200
        assert usage["costUsd"] == pytest.approx(0.00092)
        assert usage["contextSize"] == 128000
        assert "turn started" not in talk.heard.kinds


@pytest.mark.parametrize(("answer", "is_there"), [("allow-once", True), ("deny", False)])
async def test_a_command_is_run_only_where_it_was_allowed(
    stand_in: StandIn, tmp_path: Path, answer: str, is_there: bool
) -> None:
    stand_in.start()
    async with bridge(stand_in, tmp_path / "state") as talk:
        await talk.new(tmp_path)
        talk.heard.answer(answer)
        await talk.prompt(script({"text": "Trying.", "cmd": "touch made.txt"}, {"text": "Done."}), "m-1")
        asked = await talk.heard.until("permission")
        assert asked.raw_input == {"command": "touch made.txt", "cwd": str(tmp_path)}
        assert asked.field_meta == {"betcode": {"toolName": "Bash"}}
        result = await talk.heard.until("tool_call_update")
        assert result.status == ("completed" if is_there else "failed")
        assert (tmp_path / "made.txt").exists() == is_there
        assert talk.heard.text == "Trying.Done."


async def test_a_cancelled_run_ends_with_its_command(stand_in: StandIn, tmp_path: Path) -> None:
    stand_in.start()
    async with bridge(stand_in, tmp_path / "state", "--permission-mode", "full") as talk:
        await talk.new(tmp_path)
        stopped = []

        async def ask() -> None:
            stopped.append(await talk.prompt(script({"cmd": "sleep 333"}), "m-1"))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask)
            await talk.heard.until("tool_call")
            await talk.cancel()
        assert [each.stop_reason for each in stopped] == ["cancelled"]
        assert (await talk.prompt(script({"text": "Next."}), "m-2")).stop_reason == "end_turn"


async def test_an_error_of_the_run_is_an_error_of_the_prompt(stand_in: StandIn, tmp_path: Path) -> None:
    stand_in.start()
    async with bridge(stand_in, tmp_path / "state") as talk:
        await talk.new(tmp_path)
        refused = await talk.refused(script({"error": "the model says no"}), "m-1")
        assert refused == {"kind": "error", "message": "the model says no"}


async def test_a_run_goes_on_without_its_bridge_and_the_next_one_shows_the_rest(
    stand_in: StandIn, tmp_path: Path
) -> None:
    stand_in.start()
    gate = tmp_path / "gate"
    message = script({"text": "First.", "cmd": "echo one"}, {"text": "Half and", "wait": str(gate)}, {"text": "all."})
    async with bridge(stand_in, tmp_path / "state", "--permission-mode", "full") as talk:
        key = await talk.new(tmp_path)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_until_it_dies, talk, message)
            await talk.heard.until("agent_message_chunk", 2)
            os.kill(talk.pid, signal.SIGKILL)
    gate.touch()
    async with bridge(stand_in, tmp_path / "state") as talk:
        await talk.load(tmp_path, key)
        ended = await talk.prompt(message, "m-1")
        assert ended.stop_reason == "end_turn"
        assert talk.heard.text == "Half and all.".replace("and all", "andall")
        assert "turn started" not in talk.heard.kinds
        assert (await talk.prompt(script({"text": "Next."}), "m-2")).stop_reason == "end_turn"


async def _until_it_dies(talk: object, message: str) -> None:
    with pytest.raises((ConnectionError, Exception)):
        await talk.prompt(message, "m-1")  # type: ignore[attr-defined]
