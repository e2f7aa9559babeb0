"""SIGHUP: settings are read again, and nothing else happens."""

import json
import os
import signal
from pathlib import Path

import pytest
from grpc import aio

from betcode.client import Client, open_client
from betcode.v1 import agent_pb2 as v1
from support.daemon.process import Daemon, becomes_true, obedient_daemon
from support.daemon.session import Talk, is_idle, settled_text
from support.providers.claude_world import obedient_talk

pytestmark = [pytest.mark.anyio, pytest.mark.behaviour("lifecycle.sighup.reload")]


async def renewed(daemon: Daemon, settings: dict[str, object] | str) -> list[dict[str, str]]:
    """Write the file and have it read; what the log says of it."""
    if isinstance(settings, str):
        (daemon.paths.config_dir / "settings.json").write_text(settings)
    else:
        daemon.configure(settings)
    before = len(daemon.log)
    os.kill(daemon.pid, signal.SIGHUP)

    def said() -> list[dict[str, str]]:
        whole = daemon.log[before:].rpartition("\n")[0].splitlines()
        lines = [json.loads(line) for line in whole]
        return [line for line in lines if line["target"] == "betcode.config.reload"]

    await becomes_true(lambda: bool(said()))
    return said()


async def waiting(daemon: Daemon, client: Client) -> Talk:
    talk = await obedient_talk(daemon, client)
    await talk.say("wait go\nsay done")
    return talk


async def test_more_turns_work_as_soon_as_the_limit_is_raised(tmp_path: Path) -> None:
    async with (
        obedient_daemon(tmp_path, settings={"agents": {"turn_limit": 1}}) as daemon,
        open_client(daemon.paths) as client,
    ):
        first = await waiting(daemon, client)
        await first.until(lambda event: event.text_delta.text == "waiting")
        second = await waiting(daemon, client)
        await second.until("message_state")  # it waits for a place
        assert (await second.summary()).waiting_for == "slot"
        said = await renewed(daemon, {"agents": {"turn_limit": 2, "queue_limit": 7}})
        assert said[0]["message"].endswith("agents.turn_limit, agents.queue_limit")
        await second.until(lambda event: event.text_delta.text == "waiting")
        assert (await client.health()).metadata["turn_limit"] == "2"
        (daemon.work / "go").touch()
        for talk in (first, second):
            await talk.until(is_idle)
            assert settled_text(talk.events).endswith("done")
        assert len(daemon.agent_pids) == 2


async def test_idle_agents_are_retired_by_the_new_limits(tmp_path: Path) -> None:
    async with obedient_daemon(tmp_path) as daemon, open_client(daemon.paths) as client:
        talk = await obedient_talk(daemon, client)
        await talk.turn("say hello")
        await becomes_true(lambda: len(daemon.processes()) == 3)
        await renewed(daemon, {"agents": {"idle_retire": "50ms"}})
        await becomes_true(lambda: [one.pid for one in daemon.processes()] == [daemon.pid])


async def test_no_agent_is_started_past_the_new_memory_limit(tmp_path: Path) -> None:
    async with obedient_daemon(tmp_path) as daemon, open_client(daemon.paths) as client:
        first = await waiting(daemon, client)
        await first.until(lambda event: event.text_delta.text == "waiting")
        second = await obedient_talk(daemon, client)
        (said,) = await renewed(daemon, {"agents": {"memory_limit": "2MB"}})
        assert said["message"].endswith("agents.memory_limit")
        message = v1.AgentRequest(message=v1.UserMessage(content="say hello"))
        async with daemon.agent_service() as agent:
            with pytest.raises(aio.AioRpcError, match=r"raise agents\.memory_limit"):
                await agent.Submit(v1.SubmitRequest(session_id=second.session_id, request=message))


async def test_the_log_becomes_as_talkative_as_asked(tmp_path: Path) -> None:
    async with obedient_daemon(tmp_path) as daemon:
        said = await renewed(daemon, {"daemon": {"log_level": "warn", "durability": "full"}})
        assert [line["level"] for line in said] == ["warn"]
        said = await renewed(daemon, {"daemon": {"log_level": "info", "durability": "full"}})
        assert said[0]["message"].endswith("daemon.log_level")


async def test_settings_that_need_a_restart_are_reported(tmp_path: Path) -> None:
    async with obedient_daemon(tmp_path) as daemon:
        said = await renewed(daemon, {"daemon": {"durability": "full", "log_limit": "1MB"}})
        await becomes_true(lambda: "take effect when the daemon is restarted: daemon.durability" in daemon.log)
        assert said[0]["message"] == "settings read again; changed: nothing"


@pytest.mark.parametrize("wrong", ['{"agents": {"turn_limit": "many"}}', "{", '{"agents": {"turn_limit": 0}}'])
async def test_an_invalid_file_changes_nothing_and_is_reported(tmp_path: Path, wrong: str) -> None:
    async with (
        obedient_daemon(tmp_path, settings={"agents": {"turn_limit": 3}}) as daemon,
        open_client(daemon.paths) as client,
    ):
        (said,) = await renewed(daemon, wrong)
        assert said["level"] == "error"
        assert said["message"].startswith("the settings are unchanged: ")
        assert (await client.health()).metadata["turn_limit"] == "3"
        await renewed(daemon, {"agents": {"turn_limit": 4}})
        assert (await client.health()).metadata["turn_limit"] == "4"


async def test_a_closing_terminal_ends_nothing(tmp_path: Path) -> None:
    async with obedient_daemon(tmp_path) as daemon, open_client(daemon.paths) as client:
        talk = await waiting(daemon, client)
        await talk.until(lambda event: event.text_delta.text == "waiting")
        for _ in range(3):
            os.kill(daemon.pid, signal.SIGHUP)
        (daemon.work / "go").touch()
        await talk.until(is_idle)
        assert await client.is_serving()
