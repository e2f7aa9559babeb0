"""A clock past 2262, where 64 bits of nanoseconds end: the daemon works, and starts again."""

from pathlib import Path

import pytest

from betcode.client import open_client
from support.daemon.process import agent_program, running_daemon
from support.daemon.session import assert_whole, is_idle, kinds, settled_text
from support.providers.claude_world import obedient_talk
from support.rounds.clock import clock_environment, move_clock

pytestmark = pytest.mark.anyio

_CENTURY_S = 100 * 365 * 86_400


async def test_a_daemon_works_and_starts_with_a_clock_past_2262(tmp_path: Path) -> None:
    environment = clock_environment(tmp_path)
    async with (
        running_daemon(tmp_path, claude_bin=agent_program(tmp_path), environment=environment) as daemon,
        open_client(daemon.paths, sleep=daemon.until_it_serves) as client,
    ):
        talk = await obedient_talk(daemon, client)
        assert settled_text(await talk.turn("say one")) == "one"
        await talk.say("wait go\nsay two")
        await talk.until(lambda event: event.text_delta.text == "waiting")
        move_clock(tmp_path, 2 * _CENTURY_S + _CENTURY_S // 2)
        await daemon.restart()
        (daemon.work / "go").touch()
        assert settled_text(await talk.until(is_idle)).endswith("two")
        later = await obedient_talk(daemon, client)
        await later.say("tool\nsay three")
        asked = await later.asked()
        await later.answer(asked, allow=True)
        assert settled_text(await later.until(is_idle)).endswith("three")
        move_clock(tmp_path, -2 * _CENTURY_S)
        await daemon.restart()
        assert settled_text(await talk.turn("say four")) == "four"
        for each in (talk, later):
            assert_whole(each.events)
            assert "error" not in kinds(each.events)
        assert len((await client.list_sessions()).sessions) == 2
