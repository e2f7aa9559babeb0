"""Where the obey API is served: at its own socket, private, and never at the price of the other API."""

import socket
import stat
from pathlib import Path

import grpc
import pytest
from grpc import aio
from grpc_health.v1 import health_pb2
from grpc_reflection.v1alpha import reflection_pb2

from betcode.client import open_client
from betcode.client.address import grpc_target
from betcode.config.paths import choose_paths
from obey.local.v1 import local_pb2 as pb
from obey.local.v1.local_pb2_grpc import LocalDaemonServiceStub
from support.daemon.process import Daemon, running_daemon
from support.obey.daemon import obey_stub
from support.patience import PATIENCE_S

pytestmark = pytest.mark.anyio

SERVICE = "obey.local.v1.LocalDaemonService"


async def health(channel: aio.Channel, service: str = "") -> int:
    check = channel.unary_unary(
        "/grpc.health.v1.Health/Check",
        request_serializer=health_pb2.HealthCheckRequest.SerializeToString,
        response_deserializer=health_pb2.HealthCheckResponse.FromString,
    )
    answer = await check(health_pb2.HealthCheckRequest(service=service), timeout=PATIENCE_S)
    return int(answer.status)


async def services(channel: aio.Channel) -> set[str]:
    reflect = channel.stream_stream(
        "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
        request_serializer=reflection_pb2.ServerReflectionRequest.SerializeToString,
        response_deserializer=reflection_pb2.ServerReflectionResponse.FromString,
    )
    call = reflect(timeout=PATIENCE_S)
    await call.write(reflection_pb2.ServerReflectionRequest(list_services="*"))
    await call.done_writing()
    answer = await call.read()
    assert isinstance(answer, reflection_pb2.ServerReflectionResponse)
    return {each.name for each in answer.list_services_response.service}


@pytest.mark.behaviour("obey.socket")
def test_the_socket_is_in_the_runtime_directory_else_beside_the_state(tmp_path: Path) -> None:
    home = {"HOME": str(tmp_path)}
    runtime = tmp_path / "run"
    runtime.mkdir()
    usual = choose_paths({**home, "XDG_RUNTIME_DIR": str(runtime)})
    assert usual.obey_socket == runtime / "obey" / "daemon.sock"
    nowhere = choose_paths({**home, "XDG_RUNTIME_DIR": str(tmp_path / "gone")})
    assert nowhere.obey_socket == nowhere.state_dir / "obey.sock"
    own = choose_paths({**home, "XDG_RUNTIME_DIR": str(runtime), "BETCODE_STATE_DIR": str(tmp_path / "own")})
    assert own.obey_socket == tmp_path / "own" / "obey.sock", "a daemon of one's own does not meet the usual one"


@pytest.mark.behaviour("obey.socket")
async def test_the_socket_is_private_and_lists_its_services(tmp_path: Path) -> None:
    path = tmp_path / "obey" / "daemon.sock"
    async with running_daemon(tmp_path, settings={"obey": {"socket": str(path)}}):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
        async with aio.insecure_channel(grpc_target(path)) as channel:
            assert await health(channel) == await health(channel, SERVICE) == health_pb2.HealthCheckResponse.SERVING
            assert SERVICE in await services(channel)


async def test_the_other_socket_names_the_right_one(tmp_path: Path) -> None:
    async with running_daemon(tmp_path) as daemon, daemon.channel() as channel:
        with pytest.raises(aio.AioRpcError) as error:
            await LocalDaemonServiceStub(channel).Ping(pb.PingRequest())
        assert error.value.code() == grpc.StatusCode.UNIMPLEMENTED
        assert "a separate socket" in (error.value.details() or "")


async def test_turned_off_nothing_listens(tmp_path: Path) -> None:
    async with running_daemon(tmp_path, settings={"obey": {"enabled": False}}) as daemon:
        assert not daemon.paths.obey_socket.exists()
        async with open_client(daemon.paths) as client:
            assert not (await client.health()).degraded


async def test_a_socket_that_another_program_has_is_taken_when_it_is_free(tmp_path: Path) -> None:
    daemon = Daemon(tmp_path)
    path = daemon.paths.obey_socket
    path.parent.mkdir(parents=True)
    try:
        with socket.socket(socket.AF_UNIX) as other:
            other.bind(str(path))
            other.listen()
            await daemon.start()
            async with open_client(daemon.paths) as client:
                told = await client.health()
            assert told.degraded
            assert f"Another program serves at {path}" in told.degraded_reason
            assert "the obey API is not served" in daemon.log
        async with obey_stub(path) as stub:
            await stub.Ping(pb.PingRequest(), wait_for_ready=True, timeout=PATIENCE_S)
        async with open_client(daemon.paths) as client:
            assert not (await client.health()).degraded
    finally:
        daemon.end_everything()
