"""What random rounds have found, each as a small story of its own."""

import os
import signal
from pathlib import Path

import pytest

from betcode.client import Client
from betcode.holder.launch import holder_pid
from support.daemon import Daemon, becomes_true
from support.runs import gone, runs_in
from support.talk import is_idle
from support.world import obedient_talk

pytestmark = pytest.mark.anyio


def waits(text: str) -> bool:
    return text == "waiting"


async def kill_the_holder(daemon: Daemon) -> Path:
    """Returns the run's directory when its agent is gone too."""
    run = runs_in(daemon.places.runs)[-1]
    agent, holder = run.agent_pid, holder_pid(run.directory)
    assert holder is not None
    os.kill(holder, signal.SIGKILL)
    await gone(agent, within_s=5)
    return run.directory


async def test_the_socket_of_a_killed_holder_is_removed(daemon: Daemon, client: Client) -> None:
    talk = await obedient_talk(daemon, client)
    await talk.say("wait more")
    await talk.until(lambda event: waits(event.text_delta.text))
    (daemon.work / "more").touch()
    run = await kill_the_holder(daemon)
    await talk.until(is_idle)
    await becomes_true(lambda: not (run / "socket").exists())
