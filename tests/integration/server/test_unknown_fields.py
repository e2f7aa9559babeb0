"""Fields that this release does not know: nothing depends on them, and nothing takes them away."""

from pathlib import Path

import anyio
import pytest
from grpc import aio

from betcode.config.paths import choose_paths
from betcode.domain.store.rows import NewSession, SessionState, StoredEvent
from betcode.domain.values.identifiers import Seq, new_session_id
from betcode.engine.core.counters import KIND_OF
from betcode.server import Release
from betcode.server.request_checks import unknown_fields
from betcode.v1 import agent_pb2 as v1
from betcode.v1.agent_pb2_grpc import AgentServiceStub
from support.daemon.in_process import served
from support.daemon.process import obedient_daemon
from support.patience import PATIENCE_S
from support.storage.rows import store_at

pytestmark = pytest.mark.anyio

LATER = b"\xf2\x3f\x05later"  # field 1022


@pytest.mark.behaviour("unknown-fields.daemon.preserved")
async def test_what_a_later_daemon_stored_goes_out_as_it_was(tmp_path: Path) -> None:
    session = new_session_id()
    new = NewSession(session, "demo", str(tmp_path), created_ns=1)
    first = v1.AgentEvent(sequence=1, session_info=v1.SessionInfo(session_id=session)).SerializeToString() + LATER
    paths = choose_paths({}, state_dir=tmp_path / "state", config_dir=tmp_path / "config")
    paths.state_dir.mkdir(mode=0o700)
    async with store_at(paths.database) as store:
        stored = StoredEvent(Seq(1), KIND_OF["session_info"], first)
        await store.create_session(new, SessionState(last_seq=Seq(1)), [stored])
    with anyio.fail_after(PATIENCE_S):
        async with served(tmp_path, Release()) as (_, channel):
            agent = AgentServiceStub(channel)
            resumed = agent.ResumeSession(v1.ResumeSessionRequest(session_id=session))
            followed = agent.Follow(v1.FollowRequest(session_id=session))
            event, batch = await resumed.read(), await followed.read()
            assert isinstance(event, v1.AgentEvent)
            assert isinstance(batch, v1.AgentEventBatch)
            assert event.SerializeToString() == first
            assert batch.events[0].SerializeToString() == first
            resumed.cancel()
            followed.cancel()


@pytest.mark.behaviour("unknown-fields.daemon.counted", "unknown-fields.daemon.no-effect")
async def test_every_request_with_them_is_counted_on_streams_too(tmp_path: Path) -> None:
    release = Release()
    start = v1.AgentRequest(start=v1.StartConversation(working_directory=str(tmp_path))).SerializeToString()
    with anyio.fail_after(PATIENCE_S):
        async with served(tmp_path, release) as (_, channel):
            converse: aio.StreamStreamMultiCallable[bytes, bytes] = channel.stream_stream(
                "/betcode.v1.AgentService/Converse"
            )
            said = [v1.AgentEvent.FromString(data) async for data in converse(iter([start + LATER]))]
            listed: aio.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(
                "/betcode.v1.AgentService/ListSessions"
            )
            page = v1.ListSessionsResponse.FromString(await listed(LATER))
            await listed(b"")
    assert said[0].session_info.session_id == page.sessions[0].id
    assert not [each for event in said for each in unknown_fields(event)]
    assert release.counts.unknown_fields_received == 2


@pytest.mark.behaviour("unknown-fields.daemon.no-effect", "unknown-fields.daemon.logged")
async def test_a_request_with_unknown_fields_is_carried_out_as_without(tmp_path: Path) -> None:
    later = b"\xf2\x3f\x05later"
    async with obedient_daemon(tmp_path, settings={"daemon": {"log_level": "debug"}}) as daemon:
        async with daemon.channel() as channel:
            submit: aio.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary("/betcode.v1.AgentService/Submit")
            start = v1.StartConversation(working_directory=str(daemon.work))
            request = v1.SubmitRequest(request=v1.AgentRequest(start=start)).SerializeToString()
            answers = [
                v1.SubmitResponse.FromString(await submit(data, timeout=PATIENCE_S))
                for data in (request, request + later)
            ]
        assert all(answer.session_id for answer in answers)
        assert answers[0].sequence == answers[1].sequence
        assert daemon.log.count("SubmitRequest has unknown fields: SubmitRequest 1022") == 1
