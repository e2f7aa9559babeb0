"""A session whose directory may no longer be entered: it reports that, and the daemon serves on."""

from pathlib import Path

import pytest

from betcode.client import Client, NewConversation, open_client
from support.daemon.odd_runs import UnprivilegedDaemon
from support.daemon.process import Daemon, agent_program
from support.daemon.session import Talk
from support.providers.claude_world import obedient_talk

pytestmark = pytest.mark.anyio


async def talk_in(directory: Path, daemon: Daemon, client: Client) -> Talk:
    new = NewConversation(str(directory), provider="claude", environment=daemon.environment)
    return Talk(client, await client.start_session(new))


async def answered(talk: Talk, word: str) -> None:
    await talk.say(f"say {word}")
    await talk.until(lambda event: event.text_delta.is_complete and event.text_delta.text == word)


async def assert_denied(talk: Talk, directory: Path) -> None:
    await talk.say("say hello")
    reported = (await talk.until("error"))[-1].error
    assert f"its working directory '{directory}' cannot be used (Permission denied)" in reported.message
    assert "check its permissions" in reported.message


async def test_a_directory_whose_parent_has_mode_000_is_its_sessions_trouble_alone(tmp_path: Path) -> None:
    parent = tmp_path / "projects"
    shop = parent / "shop"
    shop.mkdir(parents=True)
    daemon = UnprivilegedDaemon(tmp_path, claude_bin=agent_program(tmp_path))
    try:
        await daemon.start()
        async with open_client(daemon.paths, sleep=daemon.until_it_serves) as client:
            working = await talk_in(shop, daemon, client)
            await answered(working, "before")
            denied, other = await talk_in(shop, daemon, client), await obedient_talk(daemon, client)
            parent.chmod(0o000)
            await assert_denied(denied, shop)
            await answered(working, "inside")  # its agent is there already
            await answered(other, "elsewhere")
            await daemon.restart()
            await assert_denied(denied, shop)
            await answered(working, "still")
            await answered(other, "again")
            parent.chmod(0o755)
            await answered(denied, "allowed")
            assert daemon.exit_code is None
    finally:
        parent.chmod(0o755)
        daemon.end_everything()
