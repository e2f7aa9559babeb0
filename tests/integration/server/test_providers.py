"""What clients are told of kinds of agents, and how they choose one."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from grpc import StatusCode
from grpc.aio import AioRpcError

from betcode.client import open_client
from betcode.domain.values.identifiers import new_session_id
from betcode.v1 import agent_pb2 as v1
from betcode.v1.agent_pb2_grpc import AgentServiceStub
from support.daemon.in_process import all_served
from support.daemon.process import running_daemon

if TYPE_CHECKING:
    from betcode.v1.agent_pb2_grpc import AgentServiceAsyncStub

pytestmark = pytest.mark.anyio


async def test_a_client_gets_every_provider_with_its_features(tmp_path: Path) -> None:
    async with all_served(tmp_path) as here:
        listed = await AgentServiceStub(here.channel).ListProviders(v1.ListProvidersRequest())
    (demo,) = listed.providers
    assert (demo.name, demo.title, demo.is_default) == ("demo", "betcode demo", True)
    assert demo.program.login == v1.LOGIN_STATE_NOT_NEEDED
    assert (demo.program.version != "", demo.program.missing) == (True, "")
    can = demo.program.capabilities
    assert (can.fork, can.compaction, can.permissions) == (True, False, v1.PERMISSION_SCOPE_ALL)


async def test_a_kind_that_is_not_there_is_refused_with_those_that_are(tmp_path: Path) -> None:
    async with all_served(tmp_path) as here:
        stub = AgentServiceStub(here.channel)
        with pytest.raises(AioRpcError) as refused:
            await stub.ListProviders(v1.ListProvidersRequest(name="gpt"))
    assert refused.value.code() is StatusCode.INVALID_ARGUMENT
    assert refused.value.details() == "No such provider 'gpt': choose one of demo"


async def submitted(stub: "AgentServiceAsyncStub", start: v1.StartConversation) -> str:
    done = await stub.Submit(v1.SubmitRequest(request=v1.AgentRequest(start=start)))
    return done.session_id


async def test_provider_and_model_can_be_in_the_metadata(tmp_path: Path) -> None:
    async with all_served(tmp_path) as here:
        stub = AgentServiceStub(here.channel)
        chosen = {"provider": "demo", "model": "opus"}
        session = await submitted(stub, v1.StartConversation(working_directory=str(tmp_path), metadata=chosen))
        (summary,) = (await stub.ListSessions(v1.ListSessionsRequest())).sessions
    assert (summary.id, summary.provider, summary.model) == (session, "demo", "opus")


@pytest.mark.parametrize(
    ("start", "says"),
    [
        ({"metadata": {"provider": "gpt"}}, "No such provider 'gpt': choose one of demo"),
        (
            {"provider": "demo", "metadata": {"provider": "claude"}},
            "Two providers are given, 'demo' and in",
        ),
        (
            {"metadata": {"provider_config.speed": "9"}},
            "has no configuration key 'speed': it has none",
        ),
    ],
)
async def test_what_cannot_be_chosen_is_refused_by_a_sentence(
    tmp_path: Path, start: dict[str, object], says: str
) -> None:
    async with all_served(tmp_path) as here:
        stub = AgentServiceStub(here.channel)
        asked = v1.StartConversation(
            working_directory=str(tmp_path),
            new_session_id=new_session_id(),
            **start,  # type: ignore[arg-type]
        )
        with pytest.raises(AioRpcError) as refused:
            await submitted(stub, asked)
        assert not (await stub.ListSessions(v1.ListSessionsRequest())).sessions
    assert refused.value.code() is StatusCode.INVALID_ARGUMENT
    assert says in str(refused.value.details())


async def test_a_session_reports_the_agents_features_at_start_and_attach(tmp_path: Path) -> None:
    async with all_served(tmp_path) as here:
        stub = AgentServiceStub(here.channel)
        session = await submitted(stub, v1.StartConversation(working_directory=str(tmp_path)))
        page = await stub.ReadEvents(v1.ReadEventsRequest(session_id=session))
    assert page.events[0].session_info.capabilities == page.session_info.capabilities
    assert page.session_info.capabilities.fork
    assert not page.session_info.capabilities.compaction


async def test_versions_are_skipped_on_request_and_no_program_is_run_for_them(tmp_path: Path) -> None:
    codex, was_run = tmp_path / "bin" / "codex", tmp_path / "was-run"
    codex.parent.mkdir()
    codex.write_text(f"#!/bin/sh\ntouch {was_run}\necho codex-cli 0.166.0\n")
    codex.chmod(0o755)
    environment = {"PATH": f"{codex.parent}:/usr/bin:/bin", "HOME": str(tmp_path)}
    async with running_daemon(tmp_path / "daemon") as daemon, open_client(daemon.paths) as client:
        (quick,) = await client.providers("codex", environment, skip_versions=True)
        assert (quick.program.path, quick.program.version) == (str(codex), "")
        assert [*sorted(quick.config_keys)] == ["effort", "sandbox"]
        assert not was_run.exists()
        (whole,) = await client.providers("codex", environment)
    assert whole.program.version == "0.166.0"
