"""An agent that was started without its project's files makes way once the project is trusted."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from betcode.client import Client, open_client
from betcode.v1 import agent_pb2 as v1
from support.daemon.process import Daemon, becomes_true, obedient_daemon
from support.daemon.runs import RunOnDisk, runs_in
from support.daemon.session import Talk, is_idle, settled_text
from support.providers.claude_world import obedient_talk

pytestmark = pytest.mark.anyio

SCHEDULED: dict[str, object] = {"scheduled_tasks.json": {"tasks": []}}
HOOKS: dict[str, object] = {"settings.json": {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]}}}


@pytest.fixture(params=[SCHEDULED, HOOKS], ids=["scheduled tasks alone", "hooks"])
async def untrusted(tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[tuple[Daemon, Client]]:
    async with obedient_daemon(tmp_path) as daemon, open_client(daemon.paths) as client:
        (daemon.work / ".claude").mkdir()
        for name, content in request.param.items():
            (daemon.work / ".claude" / name).write_text(json.dumps(content))
        yield daemon, client


def only_run(daemon: Daemon) -> RunOnDisk:
    [run] = runs_in(daemon.paths.runs)
    return run


def is_told(talk: Talk) -> bool:
    return any(event.notice.kind == v1.NOTICE_KIND_PROJECT for event in talk.events)


async def test_an_idle_agent_makes_way(untrusted: tuple[Daemon, Client]) -> None:
    daemon, client = untrusted
    talk = await obedient_talk(daemon, client)
    await talk.turn("say hello")
    assert is_told(talk)
    run = only_run(daemon)
    await client.policy.trust(str(daemon.work), trusted=True)
    await becomes_true(lambda: not run.alive)
    assert settled_text(await talk.turn("say again")) == "again"


async def test_an_idle_agent_of_the_daemon_before_makes_way(untrusted: tuple[Daemon, Client]) -> None:
    daemon, client = untrusted
    talk = await obedient_talk(daemon, client)
    await talk.turn("say hello")
    run = only_run(daemon)
    await daemon.restart()
    await client.policy.trust(str(daemon.work), trusted=True)
    await becomes_true(lambda: not run.alive)
    assert settled_text(await talk.turn("say again")) == "again"


async def test_an_agent_at_work_makes_way_once_it_is_idle(untrusted: tuple[Daemon, Client]) -> None:
    daemon, client = untrusted
    talk = await obedient_talk(daemon, client)
    await talk.say("wait go\nsay done")
    await talk.until(lambda event: event.text_delta.text == "waiting")
    run = only_run(daemon)
    await client.policy.trust(str(daemon.work), trusted=True)
    assert run.alive
    (daemon.work / "go").touch()
    assert settled_text(await talk.until(is_idle)).endswith("done")
    await becomes_true(lambda: not run.alive)


async def test_an_agent_of_another_project_stays(tmp_path: Path) -> None:
    async with obedient_daemon(tmp_path) as daemon, open_client(daemon.paths) as client:
        talk = await obedient_talk(daemon, client)
        await talk.turn("say hello")
        run = only_run(daemon)
        await daemon.restart()
        other = tmp_path / "other"
        other.mkdir()
        await client.policy.trust(str(other), trusted=True)
        await talk.turn("say again")
        assert (only_run(daemon).directory, run.alive) == (run.directory, True)
