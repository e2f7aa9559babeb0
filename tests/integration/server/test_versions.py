"""VersionService of a real daemon: what it is, what it grants, and what it makes of clients of every age."""

from contextlib import aclosing
from pathlib import Path

import anyio
import grpc
import pytest
from grpc import aio

from betcode._version import __version__
from betcode.client import ClientIdentity, NewConversation, Outdated, open_client
from betcode.client.errors import Refused
from betcode.domain.release.compatibility import AGENTS, CLIENTS
from betcode.domain.release.features import FEATURES, Feature, FeatureFlags
from betcode.server import Release
from betcode.v1 import agent_pb2 as v1
from betcode.v1 import version_pb2
from betcode.v1.version_pb2_grpc import VersionServiceStub
from support.daemon.in_process import served
from support.daemon.process import (
    AGENT_VERSION,
    Agent,
    Daemon,
    agent_program,
    becomes_true,
    obedient_daemon,
    running_daemon,
)
from support.daemon.session import Talk
from support.daemon.stream import finished_session
from support.patience import PATIENCE_S

pytestmark = pytest.mark.anyio


async def asked(daemon: Daemon) -> version_pb2.GetVersionResponse:
    async with daemon.channel() as channel:
        return await VersionServiceStub(channel).GetVersion(version_pb2.GetVersionRequest())


async def asked_until(daemon: Daemon, agent_version: str) -> version_pb2.GetVersionResponse:
    """The answer once the agent has said its version: on a busy machine the first may come before."""
    with anyio.fail_after(PATIENCE_S):
        while (told := await asked(daemon)).claude_code.version != agent_version:
            assert not told.claude_code.version
    return told


async def negotiated(daemon: Daemon, *features: str, version: str = __version__) -> version_pb2.NegotiateResponse:
    request = version_pb2.NegotiateRequest(client_version=version, client_type="cli", requested_features=features)
    async with daemon.channel() as channel:
        return await VersionServiceStub(channel).NegotiateCapabilities(request)


@pytest.mark.behaviour(
    "version.get.api", "version.get.server", "version.get.agent", "version.get.constraints", "version.get.features"
)
async def test_the_daemon_reports_its_version(daemon: Daemon) -> None:
    told = await asked_until(daemon, AGENT_VERSION)
    assert (told.api_version, told.server_version) == ("v1", __version__)
    assert told.claude_code.compatibility == version_pb2.FULLY_COMPATIBLE
    assert told.claude_code.api_version == "anthropic-2023-06-01"
    assert told.constraints.min_client_version == CLIENTS.minimum
    assert told.constraints.recommended_client == CLIENTS.recommended
    enabled = {flag.name for flag in told.feature_flags if flag.is_enabled}
    assert set(told.features) == enabled
    assert {"context_compaction", "worktree_management"} <= enabled
    assert enabled.isdisjoint({"subagent_orchestration", "legacy_permission_format"})


@pytest.mark.behaviour("version.negotiate.accepted", "version.negotiate.subset", "version.negotiate.untested")
@pytest.mark.parametrize(
    ("client", "warnings"),
    [
        pytest.param(__version__, [], id="the same"),
        pytest.param("0.1.0-alpha.1", [], id="older"),
        pytest.param("0.3.0", ["Untested client version"], id="newer"),
        pytest.param("7.0.0", ["Untested client version"], id="much newer"),
        pytest.param("dev", ["Untested client version"], id="unknown"),
    ],
)
async def test_a_client_that_is_not_too_old_is_taken(daemon: Daemon, client: str, warnings: list[str]) -> None:
    answer = await negotiated(daemon, "context_compaction", version=client)
    assert answer.accepted
    assert list(answer.granted_features) == ["context_compaction"]
    assert list(answer.warnings) == warnings
    async with open_client(daemon.paths, ClientIdentity(version=client)) as ours:
        assert await ours.start_session(NewConversation(str(daemon.work)))
        shown = [warning for warning in (await ours.handshake()).warnings if "recommends" not in warning]
        assert len(shown) == len(warnings)


@pytest.mark.behaviour("version.negotiate.too-old", "version.client.too-old")
async def test_a_client_that_is_too_old_is_refused_and_opens_no_session(daemon: Daemon) -> None:
    answer = await negotiated(daemon, "context_compaction", version="0.0.1")
    assert not answer.accepted
    assert "too old" in answer.rejection_reason
    assert answer.upgrade_url == CLIENTS.upgrade_url
    assert not answer.granted_features
    async with open_client(daemon.paths, ClientIdentity(version="0.0.1")) as ours, daemon.agent_service() as agent:
        before = (await agent.ListSessions(v1.ListSessionsRequest())).total
        with pytest.raises(Outdated):
            await ours.start_session(NewConversation(str(daemon.work)))
        assert (await agent.ListSessions(v1.ListSessionsRequest())).total == before


async def test_an_agent_that_works_with_limits_is_degraded_and_the_limits_are_named(tmp_path: Path) -> None:
    program = agent_program(tmp_path / "program", version="2.1.250")
    async with running_daemon(tmp_path, claude_bin=program) as daemon:
        told = await asked_until(daemon, "2.1.250")
        assert told.claude_code.compatibility == version_pb2.DEGRADED
        answer = await negotiated(daemon)
        assert answer.accepted
        (warning,) = answer.warnings
        assert warning.startswith("Claude Code v2.1.250 works with limits: ")
        assert AGENTS["claude"].upgrade_url in warning
        async with open_client(daemon.paths) as client:
            assert await client.start_session(NewConversation(str(daemon.work), provider="claude"))


async def test_the_capabilities_of_a_client_are_validated(daemon: Daemon) -> None:
    request = version_pb2.NegotiateRequest(client_version=__version__, client_type="cli")
    async with daemon.channel() as channel:
        negotiate = VersionServiceStub(channel).NegotiateCapabilities
        request.client_capabilities.update({"unknown_events": "ignored", "later": "who knows"})
        assert not (await negotiate(request)).warnings
        request.client_capabilities["deprecations"] = "loud"
        answer = await negotiate(request)
        assert answer.accepted
        assert [warning for warning in answer.warnings if "'deprecations'" in warning] == list(answer.warnings)
        request.client_capabilities["later"] = "x" * 10_000
        with pytest.raises(aio.AioRpcError) as refused:
            await negotiate(request)
        assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT


async def test_features_that_are_not_there_are_warned_of_by_name(daemon: Daemon) -> None:
    answer = await negotiated(daemon, "subagent_orchestration", "time_travel")
    assert answer.accepted
    assert not answer.granted_features
    subagents, unknown = answer.warnings
    assert "feature_flags.subagent_orchestration" in subagents
    assert "time_travel" in unknown


@pytest.mark.behaviour("version.negotiate.alpha-feature", "feature.min-client", "feature.stage.alpha-off")
async def test_a_client_is_accepted_without_features_that_are_off_or_need_a_newer_client(tmp_path: Path) -> None:
    """No such feature is built, so two are made for the test."""
    young = Feature("young", "Something young", "For a test", version_pb2.ALPHA, "0.1.0")
    modern = Feature("modern", "Something modern", "For a test", version_pb2.STABLE, "0.1.0", min_client="0.9.0")
    release = Release(FeatureFlags(__version__, table=(*FEATURES, young, modern)))
    request = version_pb2.NegotiateRequest(requested_features=["young", "modern", "event_batching"])
    async with served(tmp_path, release) as (_, channel):
        negotiate = VersionServiceStub(channel).NegotiateCapabilities
        request.client_version = __version__
        answer = await negotiate(request)
        assert (answer.accepted, list(answer.granted_features)) == (True, ["event_batching"])
        in_alpha, too_old = answer.warnings
        assert "alpha" in in_alpha
        assert "feature_flags.young" in in_alpha
        assert "0.9.0" in too_old
        request.client_version = "0.9.0"
        assert list((await negotiate(request)).granted_features) == ["modern", "event_batching"]


@pytest.mark.behaviour("version.capabilities.flags", "version.capabilities.tools-models", "version.capabilities.limits")
async def test_the_capabilities_are_those_in_force(daemon: Daemon, agent: Agent) -> None:
    await finished_session(agent, str(daemon.work))
    has = (await negotiated(daemon)).capabilities
    told = await asked(daemon)
    assert {name for name, is_on in has.feature_flags.items() if is_on} == set(told.features)
    assert (has.subagents_enabled, has.worktrees_enabled) == (False, True)
    assert list(has.available_models) == ["obedient-1"]
    assert "Bash" in has.available_tools
    assert has.streaming_supported
    largest = v1.ListSessionsRequest(working_directory="/" + "x" * (has.max_message_size - 20))
    assert (await agent.ListSessions(largest)).total == 0
    largest.working_directory += "x" * 40
    with pytest.raises(aio.AioRpcError) as longer:
        await agent.ListSessions(largest)
    assert longer.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED


@pytest.mark.behaviour("version.capabilities.limits")
@pytest.mark.parametrize("how", [grpc.Compression.Gzip, grpc.Compression.Deflate])
async def test_compressed_requests_are_understood(daemon: Daemon, agent: Agent, how: grpc.Compression) -> None:
    assert (await negotiated(daemon)).capabilities.compression_supported
    request = v1.ListSessionsRequest(working_directory="/" + "nowhere/" * 1000)
    assert (await agent.ListSessions(request, compression=how)).total == 0


@pytest.mark.behaviour("version.negotiate.client-type")
@pytest.mark.parametrize("kind", ["cli", "flutter", "headless"])
async def test_the_type_that_a_client_gave_is_known_of_it_afterwards(daemon: Daemon, agent: Agent, kind: str) -> None:
    session = await finished_session(agent, str(daemon.work))
    named = (("x-client-id", f"phone-{kind}"),)
    async with daemon.channel() as channel:
        request = version_pb2.NegotiateRequest(client_version=__version__, client_type=kind)
        await VersionServiceStub(channel).NegotiateCapabilities(request, metadata=named)
    stream = agent.Follow(v1.FollowRequest(session_id=session), metadata=named)
    await stream.read()
    summary = (await agent.ListSessions(v1.ListSessionsRequest(limit=1))).sessions[0]
    assert {(each.client_id, each.client_type) for each in summary.clients} == {(f"phone-{kind}", kind)}
    stream.cancel()


@pytest.mark.behaviour("version.agent.incompatible", "version.negotiate.incompatible-agent")
async def test_an_agent_below_the_minimum_is_refused_with_both_versions(tmp_path: Path) -> None:
    old = agent_program(tmp_path, version="0.9.0")
    async with running_daemon(tmp_path, claude_bin=old) as daemon, open_client(daemon.paths) as client:
        told = await asked_until(daemon, "0.9.0")
        assert told.claude_code.compatibility == version_pb2.INCOMPATIBLE
        answer = await negotiated(daemon)
        assert not answer.accepted
        assert answer.rejection_reason == f"Claude Code v0.9.0 < required v{AGENTS['claude'].minimum}"
        assert answer.upgrade_url == AGENTS["claude"].upgrade_url
        assert (await client.list_sessions()).total == 0, "what needs no agent works"
        session = await client.start_session(NewConversation(str(daemon.work), provider="demo"))
        assert (await client.send(session, "hello")).sequence, "and so does another agent"


@pytest.mark.behaviour("launch.agent-upgrade", "version.get.agent-cached")
async def test_an_upgraded_agent_is_used_at_the_next_launch(tmp_path: Path) -> None:
    program = agent_program(tmp_path, version="2.1.300")
    async with running_daemon(tmp_path, claude_bin=program) as daemon, daemon.agent_service() as agent:
        await asked_until(daemon, "2.1.300")
        first = await finished_session(agent, str(daemon.work), "argv")
        text = program.read_text()
        upgraded = tmp_path / "upgraded"
        upgraded.write_text(text.replace("2.1.300", "2.1.325").replace("obedient-1", "obedient-2"))
        upgraded.chmod(0o755)
        upgraded.replace(program)
        told = await asked_until(daemon, "2.1.325")
        assert told.claude_code.compatibility == version_pb2.FULLY_COMPATIBLE
        second = await finished_session(agent, str(daemon.work), "argv")
        listed = (await agent.ListSessions(v1.ListSessionsRequest())).sessions
    assert {each.id: each.model for each in listed} == {first: "obedient-1", second: "obedient-2"}


async def test_an_agent_that_reports_no_version_delays_nobody(tmp_path: Path) -> None:
    program = agent_program(tmp_path)
    text = program.read_text().replace("sys.exit(print(", "sys.exit(__import__('time').sleep(86399) or print(")
    program.write_text(text)
    async with running_daemon(tmp_path, claude_bin=program) as daemon, daemon.agent_service() as agent:
        assert await finished_session(agent, str(daemon.work), "say hello")
        told = await asked(daemon)
        assert (told.claude_code.version, told.claude_code.compatibility) == ("", version_pb2.COMPATIBILITY_UNKNOWN)
        assert (await negotiated(daemon)).accepted
        await becomes_true(lambda: not [each for each in daemon.processes() if "--version" in command_of(each.pid)])


def command_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
    except OSError:
        return ""


@pytest.mark.behaviour("feature.gate", "feature.config", "version.negotiate.disabled-feature")
async def test_a_feature_that_is_turned_off_refuses_its_calls_and_comes_back_with_the_settings(tmp_path: Path) -> None:
    off = {"feature_flags": {"context_compaction": False}}
    async with obedient_daemon(tmp_path, settings=off) as daemon, daemon.agent_service() as agent:
        answer = await negotiated(daemon, "context_compaction")
        assert not answer.granted_features
        assert answer.warnings[0].startswith("context_compaction disabled")
        with pytest.raises(aio.AioRpcError) as error:
            await agent.CompactSession(v1.CompactSessionRequest(session_id="s"))
        assert error.value.code() is grpc.StatusCode.UNIMPLEMENTED
        assert "feature_flags.context_compaction" in (error.value.details() or "")
        daemon.reload({"feature_flags": {"context_compaction": True}})
        await becomes_true(lambda: "settings read again" in daemon.log)
        with pytest.raises(aio.AioRpcError) as error:
            await agent.CompactSession(v1.CompactSessionRequest(session_id="s"))
        assert error.value.code() is grpc.StatusCode.NOT_FOUND
        assert "context_compaction" in (await asked(daemon)).features


async def test_a_client_that_stays_notices_features_that_are_turned_off_and_on(tmp_path: Path) -> None:
    async with obedient_daemon(tmp_path) as daemon, open_client(daemon.paths) as client:
        session = await client.start_session(NewConversation(str(daemon.work), provider="claude"))
        talk = Talk(client, session)
        await talk.say("say hello")
        await talk.until("turn_complete")
        await client.config.change(
            {"feature_flags.event_batching": "false", "feature_flags.context_compaction": "false"}
        )
        async with aclosing(client.follow(session)) as events:
            with anyio.fail_after(PATIENCE_S):
                assert (await anext(events)).sequence == 1
        with pytest.raises(Refused, match=r"feature_flags\.context_compaction"):
            await client.compact(session)
        await client.config.change({"feature_flags.context_compaction": "true"})
        await client.compact(session)


async def test_odd_flags_in_the_settings_are_warned_of_in_the_log(tmp_path: Path) -> None:
    flags = {"context_compacton": True, "legacy_permission_format": True, "session_persistence": False}
    async with obedient_daemon(tmp_path, settings={"feature_flags": flags}) as daemon:
        assert "did you mean context_compaction?" in daemon.log
        assert "feature_flags.legacy_permission_format has no effect" in daemon.log
        assert "session_persistence" in (await asked(daemon)).features
