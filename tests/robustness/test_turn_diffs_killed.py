"""A daemon that is killed in the middle of a turn does not cost anyone what the turn changed."""

from contextlib import aclosing
from pathlib import Path

import pytest

from betcode.client import open_client
from support.daemon.process import agent_program, becomes_true, running_daemon
from support.daemon.session import Talk, is_idle
from support.git.repositories import make_repository
from support.providers.claude_world import obedient_talk

pytestmark = pytest.mark.anyio


async def _changed(talk: Talk, turn: int) -> tuple[str, list[str]]:
    async with aclosing(talk.client.diffs.of_session(talk.session_id, turn=turn, counts=True)) as chunks:
        read = [chunk async for chunk in chunks]
    counts = b"".join(chunk.data for chunk in read).decode()
    return "".join(chunk.note for chunk in read), [each.split("\t")[-1] for each in counts.split("\0") if each]


async def test_what_an_agent_changes_while_no_daemon_runs_belongs_to_its_turn(tmp_path: Path) -> None:
    async with running_daemon(tmp_path, claude_bin=agent_program(tmp_path)) as daemon:
        make_repository(daemon.work, {"a": "one\n", ".gitignore": "agent.pids\ngo-*\n"})
        async with open_client(daemon.paths) as client:
            talk = await obedient_talk(daemon, client)
            await talk.say("wait go-1\nspawn touch first\nwait go-2\nspawn touch second")
            await talk.say("wait go-3")
            await talk.until("text_delta")  # it waits
            note, changed = await _changed(talk, 1)
            assert (note, changed) == ("turn 1 is open: compared with the tree as it is now", [])
        daemon.kill()
        (daemon.work / "go-1").touch()
        await becomes_true((daemon.work / "first").exists)
        await daemon.start()
        async with open_client(daemon.paths) as client:
            talk.client = client
            (daemon.work / "go-2").touch()
            await talk.until("turn_complete")
            assert await _changed(talk, 1) == ("", ["first", "second"])
        daemon.kill()
        (daemon.work / "third").touch()
        (daemon.work / "go-3").touch()
        await daemon.start()
        async with open_client(daemon.paths) as client:
            talk.client = client
            await talk.until(is_idle)
            assert await _changed(talk, 2) == ("", ["third"])
            assert await _changed(talk, 0) == ("", ["first", "second", "third"])
