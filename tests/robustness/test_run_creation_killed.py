"""A daemon that is killed right after it added the row of a new run: the conversation is carried on from that row."""

import os
import signal
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from betcode.client import open_client
from betcode.providers.claude.state import State, load
from support.daemon.process import agent_program, running_daemon
from support.daemon.session import is_idle, settled_text
from support.providers.claude_world import obedient_talk

pytestmark = pytest.mark.anyio


def newest_state(database: Path) -> State:
    """The dialogue state of the newest run, as stored."""
    with closing(sqlite3.connect(database)) as connection:
        row = connection.execute(
            "SELECT dialogue_state, dialogue_version FROM runs ORDER BY key DESC LIMIT 1"
        ).fetchone()
    return load(*row)


async def test_a_run_killed_at_its_creation_has_the_carried_state_and_nothing_open(tmp_path: Path) -> None:
    async with (
        running_daemon(tmp_path, claude_bin=agent_program(tmp_path)) as daemon,
        open_client(daemon.paths) as client,
    ):
        await daemon.stop()
        await daemon.start(BETCODE_FAULT="run-created:2")
        talk = await obedient_talk(daemon, client)
        await talk.turn("say hello")
        await talk.say("wait go\nsay done")
        await talk.until(lambda event: event.text_delta.text == "waiting")
        os.kill(daemon.agent_pids[-1], signal.SIGKILL)
        await daemon.ended()  # while it starts the next agent
        state = newest_state(daemon.paths.database)
        assert (state.began, state.total_cost) == (True, 0.25)
        assert (state.turn, state.stream, state.pending) == (False, None, {}), "nothing of the lost process is open"
        await daemon.start()
        (daemon.work / "go").touch()
        await talk.until(is_idle)
        assert "done" in settled_text(talk.events)
