"""The real Codex in a repository that nobody has trusted: nothing of it runs; after trust it does."""

from pathlib import Path

import pytest

from betcode.v1 import agent_pb2 as v1
from support.apis.openai.server import script
from support.attacks.project import HostileProject
from support.daemon.session import is_idle, settled_text
from support.providers.codex import codex_world

pytestmark = pytest.mark.anyio

LOOK = {"tools": [{"cmd": "echo hostile=$HOSTILE > seen.txt"}]}


def notices(events: list[v1.AgentEvent]) -> list[v1.Notice]:
    return [event.notice for event in events if event.notice.kind == v1.NOTICE_KIND_PROJECT]


async def test_runs_nothing_of_an_untrusted_project_and_everything_after_trust(tmp_path: Path) -> None:
    async with codex_world(tmp_path) as world:
        work = world.daemon.work
        project = HostileProject(work, tmp_path / "traces").for_codex()
        configuration = Path(world.environment["HOME"]) / ".codex" / "config.toml"
        before = configuration.read_text()
        talk = await world.session()
        await talk.say("Look " + script(LOOK, {"text": "Seen."}))
        await talk.answer(await talk.asked(), allow=True)
        await talk.until(is_idle)
        assert (work / "seen.txt").read_text() == "hostile=\n"
        assert project.ran == []
        [notice] = notices(talk.events)
        assert ".codex/config.toml" in notice.details["files"]
        assert configuration.read_text() == before, "Codex did not write it down as trusted"
        await world.client.policy.trust(str(work), trusted=True)
        again = await world.session()
        await again.say("Look " + script(LOOK, {"text": "Seen."}))
        await again.answer(await again.asked(), allow=True)
        await again.until(is_idle)
        assert (work / "seen.txt").read_text() == "hostile=set-by-the-project\n"
        assert "mcp" in project.ran
        assert not notices(again.events)
        assert configuration.read_text() == before


async def test_a_clean_directory_is_not_recorded_as_trusted(tmp_path: Path) -> None:
    async with codex_world(tmp_path) as world:
        configuration = Path(world.environment["HOME"]) / ".codex" / "config.toml"
        before = configuration.read_text()
        (world.daemon.work / "AGENTS.md").write_text("Words for the model.")
        talk = await world.session()
        assert settled_text(await talk.turn("Hello " + script({"text": "Hello."}))) == "Hello."
        assert configuration.read_text() == before
        assert "Words for the model." in str(world.requests(world.daemon.work)[-1].body)
