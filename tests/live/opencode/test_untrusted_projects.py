"""The real opencode in a repository that nobody has trusted: nothing of it runs; after trust it does."""

from pathlib import Path
from shutil import rmtree

import pytest

from betcode.v1 import agent_pb2 as v1
from support.apis.openai.server import script
from support.attacks.project import HostileProject
from support.daemon.session import settled_text
from support.providers.opencode import OpencodeWorld, opencode_world

pytestmark = pytest.mark.anyio


def notices(events: list[v1.AgentEvent]) -> list[v1.Notice]:
    return [event.notice for event in events if event.notice.kind == v1.NOTICE_KIND_PROJECT]


def with_project_files(world: OpencodeWorld) -> None:
    """The stand-in's environment switches them off for all other tests."""
    del world.environment["OPENCODE_DISABLE_PROJECT_CONFIG"]  # type: ignore[attr-defined]


async def test_runs_nothing_of_an_untrusted_project_and_everything_after_trust(tmp_path: Path) -> None:
    async with opencode_world(tmp_path) as world:
        with_project_files(world)
        project = HostileProject(world.work, tmp_path / "traces").for_opencode(plugins=False)
        talk = await world.session()
        await talk.turn("Hello " + script({"text": "Hello."}))
        assert project.ran == []
        [notice] = notices(talk.events)
        assert "opencode.json" in notice.details["files"]
        assert ".opencode/tool" in notice.details["files"]
        rmtree(world.work / ".opencode")  # trusted, it would install packages there first
        await world.client.policy.trust(str(world.work), trusted=True)
        again = await world.session()
        await again.turn("Hello " + script({"text": "Hello."}))
        assert project.ran == ["mcp"]


async def test_does_not_start_if_an_untrusted_project_brings_plugins(tmp_path: Path) -> None:
    """It imports them whatever it is told."""
    async with opencode_world(tmp_path) as world:
        with_project_files(world)
        project = HostileProject(world.work, tmp_path / "traces").for_opencode(plugins=True)
        talk = await world.session()
        events = await talk.turn("Hello " + script({"text": "Hello."}))
        [error] = [event.error for event in events if event.HasField("error")]
        assert "opencode.json: " in error.message
        assert "plugins (file://" in error.message
        assert "betcode policy trust" in error.message
        assert project.ran == []
        await world.client.policy.trust(str(world.work), trusted=True)
        assert settled_text(await talk.turn("Hello " + script({"text": "Hello."}))) == "Hello."
        assert "plugin" in project.ran
