"""A feature that goes, made for these tests: still served, warned of, counted, and off unless it is wanted."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import date
from pathlib import Path

import anyio
import grpc
import pytest
from grpc import aio

from betcode.domain.release.deprecations import DeprecatedKind, Deprecation, months_later
from betcode.domain.release.features import FEATURES, Feature, FeatureFlags
from betcode.server import Release
from betcode.v1 import agent_pb2 as v1
from betcode.v1 import version_pb2
from betcode.v1.agent_pb2_grpc import AgentServiceStub
from betcode.v1.version_pb2_grpc import VersionServiceStub
from support.daemon.in_process import served
from support.daemon.process import Agent
from support.patience import PATIENCE_S

pytestmark = pytest.mark.anyio

RUNNING = "0.2.5"
OLD = Feature(
    "old_format",
    "The old format",
    "Made for a test",
    version_pb2.DEPRECATED,
    "0.1.0",
    deprecated=RUNNING,
    removal="0.4.0",
)
DAY = date(2027, 1, 1)


def record(feature: str, kind: DeprecatedKind, removal: str = "0.4.0") -> Deprecation:
    end = months_later(DAY, 24)
    return Deprecation(feature, kind, "the new one", DAY, DAY, RUNNING, DAY, end, removal, "old-format")


RECORDS = (
    record("old_format", DeprecatedKind.FLAG),
    record("betcode.v1.CancelRequest.reason", DeprecatedKind.FIELD, "0.3.0"),
    record("betcode.v1.AgentService.ListPending", DeprecatedKind.RPC, "3.0.0"),
)
COUNTS_ON_OLD = (("x-betcode-features", "old_format"),)


class World:
    def __init__(self, channel: aio.Channel, release: Release, root: Path) -> None:
        self.agent: Agent = AgentServiceStub(channel)
        self.versions = VersionServiceStub(channel)
        self.release = release
        self.root = root

    @property
    def used(self) -> dict[str, int]:
        return dict(self.release.counts.deprecations_used)

    async def session(self) -> str:
        start = v1.AgentRequest(start=v1.StartConversation(working_directory=str(self.root)))
        return (await self.agent.Submit(v1.SubmitRequest(request=start))).session_id


@asynccontextmanager
async def world(root: Path, **chosen: bool) -> AsyncIterator[World]:
    features = FeatureFlags(RUNNING, chosen, table=(*FEATURES, OLD), deprecations=RECORDS)
    release = Release(features)
    with anyio.fail_after(PATIENCE_S):
        async with served(root, release) as (_, channel):
            yield World(channel, release, root)


@pytest.mark.behaviour("version.get.deprecated")
async def test_what_goes_is_listed_with_what_replaces_it(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        told = await here.versions.GetVersion(version_pb2.GetVersionRequest())
    assert list(told.constraints.deprecated_features) == [each.feature for each in RECORDS]
    assert told.constraints.feature_replacements["old_format"] == "the new one"
    assert {each.feature: each.severity for each in told.deprecations} == {
        "old_format": version_pb2.WARNING,
        "betcode.v1.CancelRequest.reason": version_pb2.URGENT,
        "betcode.v1.AgentService.ListPending": version_pb2.INFO,
    }


@pytest.mark.behaviour("deprecation.legacy-permission.disabled")
async def test_a_deprecated_flag_is_off_until_it_is_wanted_and_wanting_it_warns(tmp_path: Path) -> None:
    wanted = version_pb2.NegotiateRequest(client_version=RUNNING, requested_features=["old_format"])
    async with world(tmp_path) as here:
        refused = await here.versions.NegotiateCapabilities(wanted)
        assert not refused.granted_features
        with pytest.raises(aio.AioRpcError) as error:
            await here.agent.ListSessions(v1.ListSessionsRequest(), metadata=COUNTS_ON_OLD)
        assert error.value.code() is grpc.StatusCode.UNIMPLEMENTED
        assert "feature_flags.old_format" in (error.value.details() or "")
        assert not here.used

        here.release.features.use({"old_format": True})
        (remark,) = here.release.features.remarks()
        assert "removed in 0.4.0" in remark
        granted = await here.versions.NegotiateCapabilities(wanted)
        assert list(granted.granted_features) == ["old_format"]
        assert any("0.4.0" in warning for warning in granted.warnings)


@pytest.mark.behaviour(
    "deprecation.runtime-warning",
    "deprecation.still-served",
    "deprecation.legacy-permission.warning",
    "feature.stage.deprecated",
)
@pytest.mark.parametrize("call", ["Follow", "ResumeSession", "Converse"])
async def test_a_stream_that_uses_it_is_warned_once_and_served(tmp_path: Path, call: str) -> None:
    async with world(tmp_path, old_format=True) as here:
        session = await here.session()
        events = await first_events(here.agent, call, session)
        await here.agent.CloseSession(v1.CloseSessionRequest(session_id=session))
    (warned,) = [event for event in events if event.HasField("deprecation")]
    told = warned.deprecation
    assert warned.sequence == 0
    assert (told.feature, told.replacement, told.removal_version) == ("old_format", "the new one", "0.4.0")
    assert told.migration_url.endswith("#old-format")
    assert told.severity == version_pb2.WARNING
    assert [event.sequence for event in events if event.sequence] == [1], "and the history comes all the same"
    assert here.used == {"old_format": 1}


async def first_events(agent: Agent, call: str, session: str) -> list[v1.AgentEvent]:
    """Everything up to the first event of the history."""
    found: list[v1.AgentEvent] = []
    match call:
        case "Follow":
            batches = agent.Follow(v1.FollowRequest(session_id=session), metadata=COUNTS_ON_OLD)
            async for batch in batches:
                found += batch.events
                if any(event.sequence for event in found):
                    break
            batches.cancel()
        case "ResumeSession":
            resumed = agent.ResumeSession(v1.ResumeSessionRequest(session_id=session), metadata=COUNTS_ON_OLD)
            async for event in resumed:
                found.append(event)
                if event.sequence:
                    break
            resumed.cancel()
        case _:
            stream = agent.Converse(metadata=COUNTS_ON_OLD)
            await stream.write(v1.AgentRequest(start=v1.StartConversation(session_id=session)))
            async for event in stream:
                found.append(event)
                if event.sequence:
                    break
            stream.cancel()
    return found


@pytest.mark.behaviour("deprecation.still-served")
async def test_a_deprecated_field_is_warned_of_in_the_midst_of_a_conversation(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        session = await here.session()
        stream = here.agent.Converse()
        await stream.write(v1.AgentRequest(start=v1.StartConversation(session_id=session)))
        for _ in range(2):
            await stream.write(v1.AgentRequest(cancel=v1.CancelRequest(reason="tired")))
        await stream.done_writing()
        events = [event async for event in stream]
    (warned,) = [event.deprecation for event in events if event.HasField("deprecation")]
    assert warned.feature == "betcode.v1.CancelRequest.reason"
    assert warned.severity == version_pb2.URGENT
    assert here.used == {"betcode.v1.CancelRequest.reason": 2}


@pytest.mark.behaviour("deprecation.still-served")
async def test_a_call_with_one_answer_has_its_warning_in_the_trailers(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        call = here.agent.ListPending(v1.ListPendingRequest())
        assert not (await call).prompts
        trailers = [value for key, value in await call.trailing_metadata() if key == "x-betcode-deprecation-bin"]
        quiet = here.agent.ListSessions(v1.ListSessionsRequest())
        await quiet
        assert not await quiet.trailing_metadata()
    (data,) = trailers
    assert isinstance(data, bytes)
    told = version_pb2.DeprecationWarning.FromString(data)
    assert (told.feature, told.severity) == ("betcode.v1.AgentService.ListPending", version_pb2.INFO)


@pytest.mark.behaviour(
    "deprecation.legacy-permission.removed", "deprecation.legacy-permission.default", "feature.stage.removed"
)
async def test_removed_features_are_unavailable_whatever_the_settings(tmp_path: Path) -> None:
    wanted = version_pb2.NegotiateRequest(client_version=RUNNING, requested_features=["legacy_permission_format"])
    async with world(tmp_path, legacy_permission_format=True) as here:
        answer = await here.versions.NegotiateCapabilities(wanted)
        assert answer.accepted
        assert not answer.granted_features
        assert "removed" in answer.warnings[-1]
        response = v1.PermissionResponse(request_id="r", decision=v1.ALLOW_ONCE)
        with pytest.raises(aio.AioRpcError) as error:
            await here.agent.AnswerPermission(
                v1.AnswerPermissionRequest(response=response),
                metadata=(("x-betcode-features", "legacy_permission_format"),),
            )
        assert error.value.code() is grpc.StatusCode.UNIMPLEMENTED
        with pytest.raises(aio.AioRpcError) as error:
            await here.agent.AnswerPermission(v1.AnswerPermissionRequest(response=response))
        assert error.value.code() is grpc.StatusCode.NOT_FOUND, "the structured one is understood"
