"""What the clients of earlier releases sent still works: their recorded requests are sent again, byte for byte."""

from pathlib import Path

import anyio
import grpc
import pytest
from grpc import aio

from betcode.server import Release
from betcode.server.server import contract_services
from betcode.v1 import agent_pb2 as v1
from betcode.v1.agent_pb2_grpc import AgentServiceStub
from support.daemon.in_process import served
from support.patience import PATIENCE_S
from support.recordings.client_requests import Recorded, recorded_in

RELEASES = sorted((Path(__file__).parent / "requests").glob("*.jsonl"))
# Streams that stay open: they are left when something has come, or when it is clear that the request was taken.
ENDLESS = {"Follow", "ResumeSession", "WatchPending"}

METHODS = {f"/{service.full_name}/{method.name}" for service in contract_services() for method in service.methods} | {
    "/grpc.health.v1.Health/Check"
}


async def sent_again(channel: aio.Channel, call: Recorded) -> str:
    """The status that the same bytes end with now."""
    method: aio.StreamStreamMultiCallable[bytes, bytes] = channel.stream_stream(call.method)
    stream = method(iter(call.requests))
    try:
        if call.method.rpartition("/")[2] in ENDLESS:
            first: object = await stream.read()
            assert first is not None
            stream.cancel()
            return grpc.StatusCode.OK.name
        async for _ in stream:
            pass
    except aio.AioRpcError as error:
        return error.code().name
    return grpc.StatusCode.OK.name


async def at_rest(channel: aio.Channel) -> None:
    """As its client did: wait until no turn is open."""
    stub = AgentServiceStub(channel)
    while True:
        page = await stub.ListSessions(v1.ListSessionsRequest())
        if not any(each.status == "active" for each in page.sessions):
            return
        await anyio.sleep(0.01)


@pytest.mark.anyio
@pytest.mark.behaviour("contract.compat.new-field-default")
@pytest.mark.parametrize("release", RELEASES, ids=lambda path: path.stem)
async def test_the_requests_of_an_earlier_client_end_as_they_did(tmp_path: Path, release: Path) -> None:
    calls = recorded_in(release)
    outcomes: list[tuple[str, str]] = []
    with anyio.fail_after(PATIENCE_S):
        async with served(tmp_path, Release()) as (_, channel):
            for call in calls:
                outcomes.append((call.method, await sent_again(channel, call)))
                await at_rest(channel)
    assert outcomes == [(call.method, call.status) for call in calls]


@pytest.mark.parametrize("release", RELEASES, ids=lambda path: path.stem)
def test_a_recording_has_every_kind_of_request(release: Path) -> None:
    used = {call.method for call in recorded_in(release)}
    assert used <= METHODS
    services = {method.split("/")[1] for method in used}
    assert {"betcode.v1.AgentService", "betcode.v1.VersionService", "betcode.v1.PolicyService"} <= services
    assert len(used) >= 30
