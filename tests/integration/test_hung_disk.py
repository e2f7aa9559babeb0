"""A disk that does not answer: what agents ask about it is put to people, and everybody else goes on."""

from pathlib import Path

import anyio
import pytest
from grpc import aio

from betcode.config.paths import Paths
from betcode.domain.errors import InvalidRequest
from betcode.domain.runs.crash_policy import CrashPolicy
from betcode.server import Release
from betcode.v1 import agent_pb2 as v1
from betcode.v1 import config_pb2
from betcode.v1.agent_pb2_grpc import AgentServiceStub
from betcode.v1.config_pb2_grpc import ConfigServiceStub
from support.daemon.in_process import served
from support.daemon.session import is_idle
from support.engine.engine import EngineSession, a_session, engine
from support.patience import PATIENCE_S
from support.rules.files import write_rules
from support.storage.hung_disk import hung_disk

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("what", ["", "ran.txt"], ids=["with-its-settings", "what-is-used-alone"])
async def test_what_is_asked_about_a_disk_that_hangs_asks_and_everybody_else_goes_on(tmp_path: Path, what: str) -> None:
    paths = Paths(tmp_path / "state", tmp_path / "config", tmp_path / "state" / "daemon.sock")
    write_rules(paths.config_dir / "settings.json", allow=["Bash(touch *)"], deny=["Read(//srv/secret/**)"])
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    async with engine(tmp_path, CrashPolicy(), paths=paths) as hung:
        other = EngineSession(
            hung.supervisor, hung.store, await hung.supervisor.create(a_session(elsewhere)), elsewhere
        )
        await hung.say("tool")
        await hung.until(is_idle)
        assert hung.ran == 1, "the rule allows it"
        with hung_disk(hung.work / what) as disk:
            await hung.say("tool")
            request = await hung.asked()
            assert "did not answer" in request.deciding_rule
            await other.say("tool")
            await other.until(is_idle)
            assert other.ran == 1
            with pytest.raises(InvalidRequest, match="Cannot check whether a rule denies"):
                await hung.answer(request.request_id, v1.ALLOW_ONCE)
            assert disk.on_a_loop == []
        assert hung.ran == 1
        with anyio.fail_after(PATIENCE_S):
            while hung.ran == 1:  # until the look that hung has come back
                try:
                    await hung.answer(request.request_id, v1.ALLOW_ONCE)
                    await hung.until(is_idle)
                except InvalidRequest:
                    await anyio.sleep(0.01)
        assert hung.ran == 2
        await hung.say("tool")
        await hung.until(is_idle)
        assert hung.ran == 3, "and the rule allows it again"
        await hung.supervisor.close(hung.session)
        await hung.supervisor.close(other.session)


async def test_who_names_a_directory_on_a_disk_that_hangs_is_refused_and_others_are_served(tmp_path: Path) -> None:
    hung, well = tmp_path / "hung", tmp_path / "well"
    hung.mkdir()
    well.mkdir()

    def new(directory: Path) -> v1.SubmitRequest:
        return v1.SubmitRequest(request=v1.AgentRequest(start=v1.StartConversation(working_directory=str(directory))))

    async with served(tmp_path, Release()) as (_, channel):
        agent, config = AgentServiceStub(channel), ConfigServiceStub(channel)
        with hung_disk(hung) as disk:
            with pytest.raises(aio.AioRpcError, match="did not answer"):
                await agent.Submit(new(hung))
            with pytest.raises(aio.AioRpcError, match="did not answer"):
                await config.GetSettings(config_pb2.GetSettingsRequest(working_directory=str(hung)))
            assert (await agent.Submit(new(well))).session_id
            assert (await config.GetSettings(config_pb2.GetSettingsRequest(working_directory=str(well)))).entries
            assert disk.on_a_loop == []


async def test_an_agent_that_cannot_start_on_a_disk_that_hangs_says_so_and_stops_nobody(tmp_path: Path) -> None:
    program = tmp_path / "ends-at-once"
    program.write_text("#!/bin/sh\nexit 1\n")
    program.chmod(0o755)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    async with engine(tmp_path, CrashPolicy(), program=program) as hung:
        other = EngineSession(
            hung.supervisor, hung.store, await hung.supervisor.create(a_session(elsewhere)), elsewhere
        )
        with hung_disk(hung.work) as disk:
            await hung.say("say hello")
            failed = (await hung.until(lambda event: event.error.is_fatal))[-1].error
            assert "does not answer" in failed.message
            await other.say("say hello")
            failed = (await other.until(lambda event: event.error.is_fatal))[-1].error
            assert "does not answer" not in failed.message
            assert disk.on_a_loop == []
