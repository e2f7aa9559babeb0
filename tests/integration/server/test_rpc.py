"""The rim of the API: undecodable requests, what is not built, reflection, health, clients that leave."""

import json
import logging
import random
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import anyio
import grpc
import pytest
from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.message import DecodeError, Message
from google.protobuf.message_factory import GetMessageClass
from grpc import aio
from grpc_health.v1 import health_pb2
from grpc_reflection.v1alpha import reflection_pb2

from betcode._version import __version__
from betcode.domain.release import features as flags
from betcode.holder.platform import resident_bytes
from betcode.server.rpc import Caller, Context, RpcAdapter
from betcode.server.server import contract_services
from betcode.server.unimplemented_methods import FEATURES, feature_of
from betcode.v1 import agent_pb2 as v1
from betcode.v1 import health_pb2 as betcode_health
from support.daemon.process import Agent, Daemon, obedient_daemon
from support.daemon.raw_calls import RawCalls, outcome
from support.daemon.stream import conversation, finished_session, info_of, is_idle, status_of, text_of
from support.patience import PATIENCE_S

pytestmark = pytest.mark.anyio

METHODS = [method for service in contract_services() for method in service.methods]
BUILT = [method for method in METHODS if feature_of(method) is None]
UNBUILT = [method for method in METHODS if feature_of(method) is not None]


def _is_read(request: type[Message], data: bytes) -> bool:
    try:
        request.FromString(data)
    except DecodeError:
        return False
    return True


@pytest.mark.behaviour("error.status.invalid-argument")
@pytest.mark.parametrize("method", BUILT, ids=lambda method: str(method.name))
async def test_bytes_that_are_no_request_are_an_invalid_argument(daemon: Daemon, method: MethodDescriptor) -> None:
    if not method.input_type.fields:
        pytest.skip("nothing can be wrong in a message without fields but its wire format")
    async with daemon.channel() as channel:
        request = GetMessageClass(method.input_type)
        for data in (b"\xff\xff\xff", b"\x0a\x7fshort", b"\x0a\x02\xff\xfe"):
            if _is_read(request, data):
                continue  # whose first field is no text takes the last one for a field it does not know
            error = await outcome(RawCalls(channel), method, data)
            assert error is not None
            assert error.code() is grpc.StatusCode.INVALID_ARGUMENT, (data, error)
            assert info_of(error).reason == "INVALID_REQUEST"


async def test_text_that_is_not_utf8_is_named(daemon: Daemon, agent: Agent) -> None:
    session_id = await finished_session(agent, str(daemon.work))
    said = b"\x0a" + bytes([len(session_id)]) + session_id.encode() + b"\x12\x06\x12\x04\x0a\x02\xc3\x28"
    async with daemon.channel() as channel:
        with pytest.raises(aio.AioRpcError) as error:
            await RawCalls(channel).unary("/betcode.v1.AgentService/Submit", said)
    assert error.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert "UTF-8" in (error.value.details() or "")


async def test_an_unreadable_message_does_not_end_a_conversation(daemon: Daemon) -> None:
    start = v1.AgentRequest(start=v1.StartConversation(working_directory=str(daemon.work))).SerializeToString()
    hello = v1.AgentRequest(message=v1.UserMessage(content="say hello")).SerializeToString()
    async with daemon.channel() as channel:
        sent = RawCalls(channel).both("/betcode.v1.AgentService/Converse", start, b"\xff\xff", hello)
        events = [v1.AgentEvent.FromString(data) async for data in sent]
    assert [event.error.code for event in events if event.error.code] == ["INVALID_REQUEST"]
    assert text_of(events) == "hello"


async def test_a_request_beyond_all_bounds_is_refused_before_it_is_read(daemon: Daemon, agent: Agent) -> None:
    async with daemon.channel() as channel:
        with pytest.raises(aio.AioRpcError) as error:
            await RawCalls(channel).unary("/betcode.v1.AgentService/Submit", bytes(64 * 1024 * 1024))
    assert error.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    await agent.ListSessions(v1.ListSessionsRequest())


async def test_large_requests_that_are_refused_do_not_stay_in_memory(daemon: Daemon, agent: Agent) -> None:
    start = v1.StartConversation(working_directory=str(daemon.work))
    session = await agent.Submit(v1.SubmitRequest(request=v1.AgentRequest(start=start)))
    attached = v1.Attachment(filename="large", mime_type="text/plain", data=b"x" * 40_000_000)
    request = v1.AgentRequest(message=v1.UserMessage(content="look", attachments=[attached]))
    before = resident_bytes(daemon.pid)
    for _ in range(10):
        with pytest.raises(aio.AioRpcError) as refused:
            await agent.Submit(v1.SubmitRequest(session_id=session.session_id, request=request))
        assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert resident_bytes(daemon.pid) - before < 5 * len(attached.data)


@pytest.mark.behaviour("error.status.unimplemented")
@pytest.mark.parametrize("method", UNBUILT, ids=lambda method: f"{method.containing_service.name}.{method.name}")
async def test_an_unimplemented_method_names_its_feature(daemon: Daemon, method: MethodDescriptor) -> None:
    async with daemon.channel() as channel:
        error = await outcome(RawCalls(channel), method, b"")
    assert error is not None
    assert error.code() is grpc.StatusCode.UNIMPLEMENTED
    feature = feature_of(method)
    assert feature is not None
    assert feature in (error.details() or "")
    assert info_of(error).reason == "FEATURE_NOT_AVAILABLE"


def test_the_table_of_features_names_only_what_exists() -> None:
    known = {method.full_name for method in METHODS} | {service.full_name for service in contract_services()}
    assert set(FEATURES) <= known


def test_a_flag_is_built_where_its_calls_are() -> None:
    for feature in flags.FEATURES:
        unbuilt = [name for name in feature.calls if name in FEATURES]
        assert bool(unbuilt) == (not feature.is_built), feature.name
        assert not unbuilt or unbuilt == list(feature.calls)


def _varint(number: int) -> bytes:
    low, rest = number & 0x7F, number >> 7
    return bytes([low | 0x80]) + _varint(rest) if rest else bytes([low])


def arbitrary(random_source: random.Random, method: MethodDescriptor) -> Iterator[bytes]:
    """Noise, and messages that look right until one looks closely."""
    for _ in range(12):
        yield random_source.randbytes(random_source.randrange(0, 200))
    for field in method.input_type.fields:
        tag = bytes([(field.number << 3 | random_source.choice([0, 1, 2, 5])) & 0x7F])
        yield tag + random_source.randbytes(random_source.randrange(0, 40))
        if field.type == field.TYPE_STRING:
            text = "".join(
                chr(random_source.choice([0, 10, 27, 45, 47, 0x7F, 0x202E, 0x1F600])) for _ in range(9)
            ).encode()
            yield _varint(field.number << 3 | 2) + _varint(len(text)) + text


async def test_random_requests_on_every_call_leave_the_daemon_up(daemon: Daemon, agent: Agent) -> None:
    source = random.Random(20_261_115)
    # Deleting, closing or cancelling by chance would need a known id; noise has none.
    async with daemon.channel() as channel:
        for method in METHODS:
            for data in arbitrary(source, method):
                error = await outcome(RawCalls(channel), method, data)
                if error is not None:
                    assert error.code() is not grpc.StatusCode.INTERNAL, (method.full_name, data, error)
                    assert error.code() is not grpc.StatusCode.UNKNOWN, (method.full_name, data, error)
    session_id = await finished_session(agent, str(daemon.work))
    assert session_id
    assert "Traceback" not in daemon.log


@pytest.mark.behaviour("error.status.cancelled")
async def test_a_client_that_leaves_is_no_error(daemon: Daemon) -> None:
    before = len(daemon.log)
    async with daemon.agent_service() as agent:
        async with conversation(agent, working_directory=str(daemon.work)) as stream:
            await stream.turn("say bye")
            resumed = agent.ResumeSession(v1.ResumeSessionRequest(session_id=stream.session_id))
            await resumed.read()
            resumed.cancel()
            assert await resumed.code() is grpc.StatusCode.CANCELLED
            follow = agent.Follow(v1.FollowRequest(session_id=stream.session_id), timeout=0.2)
            with pytest.raises(aio.AioRpcError) as late:
                _ = [batch async for batch in follow]
            assert late.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
        # A call made after those shows that the daemon has dealt with them.
        await agent.ListSessions(v1.ListSessionsRequest())
    lines = [json.loads(line) for line in daemon.log[before:].splitlines()]
    assert [line for line in lines if line["level"] in ("error", "warn", "critical")] == []


@pytest.mark.parametrize("release", ["v1alpha", "v1"])
async def test_reflection_names_every_service(daemon: Daemon, release: str) -> None:
    request = reflection_pb2.ServerReflectionRequest(list_services="").SerializeToString()
    symbol = reflection_pb2.ServerReflectionRequest(
        file_containing_symbol="betcode.v1.AgentService"
    ).SerializeToString()
    async with daemon.channel() as channel:
        path = f"/grpc.reflection.{release}.ServerReflection/ServerReflectionInfo"
        answers = [
            reflection_pb2.ServerReflectionResponse.FromString(data)
            async for data in RawCalls(channel).both(path, request, symbol, b"\xff")
        ]
    names = {service.name for service in answers[0].list_services_response.service}
    assert {service.full_name for service in contract_services()} <= names
    assert "grpc.health.v1.Health" in names
    assert answers[1].file_descriptor_response.file_descriptor_proto
    assert answers[2].error_response.error_code == grpc.StatusCode.INVALID_ARGUMENT.value[0]
    assert "Traceback" not in daemon.stderr


@pytest.mark.behaviour("lifecycle.daemon.servers", "health.standard.check", "health.standard.per-service")
@pytest.mark.parametrize("service", ["", "AgentService", "betcode.v1.AgentService", "betcode.v1.BetCodeHealth"])
async def test_the_standard_health_service_answers_for_short_and_full_names(daemon: Daemon, service: str) -> None:
    request = health_pb2.HealthCheckRequest(service=service).SerializeToString()
    async with daemon.channel() as channel:
        checked = await RawCalls(channel).unary("/grpc.health.v1.Health/Check", request)
        watched = await RawCalls(channel).first("/grpc.health.v1.Health/Watch", request)
    check = health_pb2.HealthCheckResponse.FromString(checked)
    first = health_pb2.HealthCheckResponse.FromString(watched or b"")
    assert check.status == first.status == health_pb2.HealthCheckResponse.SERVING


@pytest.mark.behaviour("health.standard.unknown-service")
async def test_health_of_an_unknown_service_is_not_found(daemon: Daemon) -> None:
    request = health_pb2.HealthCheckRequest(service="nobody").SerializeToString()
    async with daemon.channel() as channel:
        with pytest.raises(aio.AioRpcError) as error:
            await RawCalls(channel).unary("/grpc.health.v1.Health/Check", request)
        watched = await RawCalls(channel).first("/grpc.health.v1.Health/Watch", request)
    assert error.value.code() is grpc.StatusCode.NOT_FOUND
    unknown = health_pb2.HealthCheckResponse.FromString(watched or b"")
    assert unknown.status == health_pb2.HealthCheckResponse.SERVICE_UNKNOWN


@pytest.mark.behaviour("health.details", "health.overall.serving", "health.component.tunnel-only-if-configured")
async def test_health_details_have_components_and_figures(daemon: Daemon, agent: Agent) -> None:
    await finished_session(agent, str(daemon.work))
    async with daemon.channel() as channel:
        data = await RawCalls(channel).unary("/betcode.v1.BetCodeHealth/GetHealthDetails", b"")
    details = betcode_health.HealthDetailsResponse.FromString(data)
    assert details.overall_status == betcode_health.SERVING
    assert not details.degraded
    assert {each.name: each.status for each in details.components} == {
        "sqlite": betcode_health.SERVING,
        "local_server": betcode_health.SERVING,
        "subprocess_pool": betcode_health.SERVING,
    }
    assert "0/5 slots used" in next(each.message for each in details.components if each.name == "subprocess_pool")
    now = time.time()
    assert all(now - 60 <= each.last_check.ToNanoseconds() / 1e9 <= now for each in details.components)
    assert details.metadata["version"] == __version__
    assert details.degraded_reason == ""
    assert details.metadata["pid"] == str(daemon.pid)
    assert details.metadata["socket"] == str(daemon.paths.socket)
    assert details.metadata["state_dir"] == str(daemon.paths.state_dir)
    assert details.metadata["default_provider"] == "claude"
    assert int(details.metadata["live_agents"]) >= 1
    assert int(details.metadata["uptime_seconds"]) >= 0
    assert details.metadata["found_at_start_adopted"] == "0"


@pytest.mark.behaviour("error.status.unavailable")
async def test_a_stopping_daemon_sends_its_clients_away_politely(tmp_path_factory: pytest.TempPathFactory) -> None:
    async with obedient_daemon(tmp_path_factory.mktemp("stopping")) as daemon, daemon.agent_service() as agent:
        async with conversation(agent, working_directory=str(daemon.work)) as stream:
            await stream.say("wait go\nsay after")
            await stream.until(lambda event: event.text_delta.text == "waiting")
            position = stream.events[-1].sequence
            resumed = agent.ResumeSession(v1.ResumeSessionRequest(session_id=stream.session_id, from_sequence=position))
            with anyio.fail_after(PATIENCE_S):
                await resumed.initial_metadata()
            assert await daemon.stop() == 0
            with anyio.fail_after(PATIENCE_S), suppress(aio.AioRpcError):
                while isinstance(await resumed.read(), v1.AgentEvent):
                    pass
            assert await status_of(resumed) is grpc.StatusCode.UNAVAILABLE
            with pytest.raises(aio.AioRpcError) as error:
                await stream.rest()
            assert error.value.code() is grpc.StatusCode.UNAVAILABLE
            assert info_of(error.value).reason == "DAEMON_STOPPING"
        assert not daemon.paths.socket.exists()
        assert not daemon.paths.ticket_socket.exists()
        # The turn outlives the daemon, and the next one gives the rest of it.
        (daemon.work / "go").touch()
        await daemon.start()
        async with daemon.agent_service() as again:
            start = v1.StartConversation(session_id=stream.session_id, from_sequence=position)
            async with conversation(again, start) as second:
                assert text_of(await second.until(is_idle)).endswith("after")
        assert len(daemon.agent_pids) == 1


async def test_a_client_that_disconnects_during_a_send_logs_no_error(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)

    async def left(_caller: Caller, _request: v1.FollowRequest, _context: Context) -> None:
        raise aio.InternalError("what gRPC says of a stream that breaks under a message")

    server = aio.server()
    methods = {"Follow": RpcAdapter().stream(v1.FollowRequest, left)}
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("rim.Test", methods),))
    server.add_insecure_port(f"unix:{tmp_path}/socket")
    await server.start()
    try:
        async with aio.insecure_channel(f"unix:{tmp_path}/socket") as channel:
            with pytest.raises(aio.AioRpcError):
                await RawCalls(channel).first("/rim.Test/Follow", b"")
    finally:
        await server.stop(None)
    assert "disconnected before it was answered" in caplog.text
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]
