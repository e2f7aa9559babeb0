"""An untrusted project on the screen: the question comes before the first message."""

import json
from pathlib import Path

import pytest

from support.daemon.process import Daemon, becomes_true, obedient_daemon
from support.screens.screen import open_screen

pytestmark = pytest.mark.anyio

SERVERS = {"mcpServers": {"lab": {"command": "true"}}}


def bring_servers(daemon: Daemon) -> None:
    (daemon.work / ".mcp.json").write_text(json.dumps(SERVERS))


async def last_agent(daemon: Daemon) -> list[str]:
    await becomes_true((daemon.work / "agent.pids").exists)
    pid = (daemon.work / "agent.pids").read_text().split()[-1]
    return Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\0")


async def test_yes_trusts_the_project_before_the_first_agent_starts(tmp_path: Path) -> None:
    async with obedient_daemon(tmp_path) as daemon:
        bring_servers(daemon)
        async with open_screen(daemon, provider="claude", size=(120, 30)) as screen:
            await screen.shows("(lab)", "MCP server lab: true", "Trust this project?", "No: run without")
            await screen.press("down", "enter")
            await screen.hides("Trust this project?")
            await screen.notes_say("Trusted.")
            await screen.type("say hello")
            await screen.press("enter")
            await screen.shows("> say hello")
            assert [one.directory for one in await screen.client.policy.trusted()] == [str(daemon.work)]
        assert "--setting-sources=user" not in await last_agent(daemon)


@pytest.mark.parametrize("keys", [("enter",), ("escape",), ("y", "y", "enter")])
async def test_enter_alone_and_letters_typed_ahead_are_no(tmp_path: Path, keys: tuple[str, ...]) -> None:
    async with obedient_daemon(tmp_path) as daemon:
        bring_servers(daemon)
        async with open_screen(daemon, provider="claude", size=(120, 30)) as screen:
            await screen.shows("Trust this project?")
            await screen.press(*keys)
            await screen.hides("Trust this project?")
            await screen.notes_say("To trust it later")
            await screen.type("say hello")
            await screen.press("enter")
            await screen.shows("> say hello", "trusted: the agent runs")
            assert not await screen.client.policy.trusted()
        assert "--setting-sources=user" in await last_agent(daemon)
        async with open_screen(daemon, provider="claude", size=(120, 30)) as screen:
            await screen.type("say again")
            await screen.press("enter")
            text = await screen.shows("> say again")
            assert "Trust this project?" not in text


async def test_a_small_terminal_shows_the_question_whole(tmp_path: Path) -> None:
    async with obedient_daemon(tmp_path) as daemon:
        bring_servers(daemon)
        async with open_screen(daemon, provider="claude", size=(40, 20)) as screen:
            await screen.shows("Trust this project?", "No: run without", "Yes: I trust")


async def test_a_long_list_is_scrolled_and_leaves_the_answers_visible(tmp_path: Path) -> None:
    servers = {f"server{number}": {"command": "run", "args": ["x" * 70]} for number in range(9)}
    async with obedient_daemon(tmp_path) as daemon:
        (daemon.work / ".mcp.json").write_text(json.dumps({"mcpServers": servers}))
        async with open_screen(daemon, provider="claude", size=(80, 20)) as screen:
            await screen.shows("MCP server server0: run", "Trust this project?", "No: run without", "Yes: I trust")
            await screen.press("shift+tab", "end")
            await screen.shows("MCP server server8: run", "Trust this project?")
