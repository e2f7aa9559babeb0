"""The daemon on TCP: nothing without the token but health, and an agent's own processes may not answer there either."""

import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, aclosing
from pathlib import Path

import anyio
import grpc
import pytest
from google.protobuf.descriptor import MethodDescriptor
from grpc import aio
from grpc_health.v1 import health_pb2

from betcode.client import Client, ClientError, ClientIdentity, NewConversation, open_client
from betcode.domain.permissions.audit import AuditFilter
from betcode.server.server import contract_services
from betcode.v1 import agent_pb2 as v1
from betcode.v1 import health_pb2 as betcode_health
from support.daemon.lock_clients import new_session, typist
from support.daemon.process import Daemon, obedient_daemon
from support.daemon.raw_calls import RawCalls, outcome
from support.daemon.session import Talk
from support.daemon.tcp import LOOPBACK, address_of, by_tcp, tcp_channel, token_file
from support.patience import PATIENCE_S

pytestmark = pytest.mark.anyio

METHODS = [method for service in contract_services() for method in service.methods]
REFLECTION = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"
SETTINGS = {
    "daemon": {**LOOPBACK, "keepalive": "1s", "keepalive_timeout": "1s", "connection_limit": 12},
    "rate_limit": {"messages_per_minute": 3, "sessions_per_hour": 1000},
}


@pytest.fixture(scope="module")
async def daemon(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Daemon]:
    async with obedient_daemon(tmp_path_factory.mktemp("tcp"), settings=SETTINGS) as daemon:
        yield daemon


def bearer(token: str) -> tuple[tuple[str, str], ...]:
    return (("authorization", f"Bearer {token}"),)


def wrong_credentials(token: str) -> list[tuple[tuple[str, str], ...]]:
    return [
        (),
        bearer("wrong" * 8),
        bearer(""),
        bearer(token[:-1]),
        bearer(token + "x"),
        (("authorization", token),),
        (("authorization", f"Basic {token}"),),
        (*bearer(token), *bearer("wrong")),
        (("x-authorization", f"Bearer {token}"),),
    ]


@pytest.mark.behaviour("error.status.unauthenticated")
async def test_no_call_is_served_without_the_token_and_every_call_with_it(daemon: Daemon) -> None:
    token = token_file(daemon).read_text().strip()
    # One connection takes 256 calls at once; what is beyond is refused before anybody looks at a token.
    limiter = anyio.CapacityLimiter(64)

    async def one(
        judge: Callable[[RawCalls, MethodDescriptor], Awaitable[None]], raw: RawCalls, method: MethodDescriptor
    ) -> None:
        async with limiter:
            await judge(raw, method)

    async with tcp_channel(daemon) as channel, anyio.create_task_group() as calls:
        for method in METHODS:
            for metadata in ((), bearer("wrong" * 8)):
                calls.start_soon(one, refused, RawCalls(channel, metadata), method)
            calls.start_soon(one, let_in, RawCalls(channel, bearer(token)), method)
    assert await daemon.serves()


async def test_nothing_that_only_looks_like_the_token_counts(daemon: Daemon) -> None:
    token = token_file(daemon).read_text().strip()
    (listing,) = [method for method in METHODS if method.full_name == "betcode.v1.AgentService.ListSessions"]
    async with tcp_channel(daemon) as channel:
        for metadata in wrong_credentials(token):
            await refused(RawCalls(channel, metadata), listing)


async def refused(raw: RawCalls, method: MethodDescriptor) -> None:
    error = await outcome(raw, method, b"")
    assert error is not None, method.full_name
    assert error.code() is grpc.StatusCode.UNAUTHENTICATED, method.full_name


async def let_in(raw: RawCalls, method: MethodDescriptor) -> None:
    """An empty request is refused for what is in it, or answered; a stream on which nothing comes was let in, too."""
    error = None
    with anyio.move_on_after(0.5 if method.server_streaming else PATIENCE_S):
        error = await outcome(raw, method, b"")
    assert error is None or error.code() is not grpc.StatusCode.UNAUTHENTICATED, method.full_name


async def test_reflection_needs_the_token(daemon: Daemon) -> None:
    token = token_file(daemon).read_text().strip()
    async with tcp_channel(daemon) as channel:
        with pytest.raises(aio.AioRpcError) as refused:
            _ = [one async for one in RawCalls(channel).both(REFLECTION, b"\x3a\x00")]
        assert refused.value.code() is grpc.StatusCode.UNAUTHENTICATED
        assert [one async for one in RawCalls(channel, bearer(token)).both(REFLECTION, b"\x3a\x00")]


@pytest.mark.behaviour("health.endpoint.tcp", "health.kubernetes")
@pytest.mark.parametrize("service", ["", "AgentService"])
async def test_health_is_open_to_everybody(daemon: Daemon, service: str) -> None:
    request = health_pb2.HealthCheckRequest(service=service).SerializeToString()
    async with tcp_channel(daemon) as channel:
        raw = RawCalls(channel)
        for data in (
            await raw.unary("/grpc.health.v1.Health/Check", request),
            await raw.first("/grpc.health.v1.Health/Watch", request),
        ):
            answer = health_pb2.HealthCheckResponse.FromString(data or b"")
            assert answer.status == health_pb2.HealthCheckResponse.SERVING
        with pytest.raises(aio.AioRpcError) as refused:
            await raw.unary("/grpc.health.v1.Health/Check", b"x" * 1_000_000)
        assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT


@pytest.mark.behaviour("health.endpoint.tcp")
async def test_health_details_need_the_token(daemon: Daemon) -> None:
    method = "/betcode.v1.BetCodeHealth/GetHealthDetails"
    token = token_file(daemon).read_text().strip()
    async with tcp_channel(daemon) as channel:
        with pytest.raises(aio.AioRpcError) as refused:
            await RawCalls(channel).unary(method, b"")
        assert refused.value.code() is grpc.StatusCode.UNAUTHENTICATED
        data = await RawCalls(channel, bearer(token)).unary(method, b"")
    assert betcode_health.HealthDetailsResponse.FromString(data).overall_status == betcode_health.SERVING


async def test_our_client_talks_by_tcp_as_it_does_by_the_socket(daemon: Daemon) -> None:
    async with open_client(await by_tcp(daemon)) as client:
        assert (await client.health()).metadata["tcp_address"] == str(await address_of(daemon))
        session = await client.start_session(NewConversation(str(daemon.work), provider="claude"))
        talk = Talk(client, session)
        await talk.say("say hello")
        await talk.until(lambda event: event.text_delta.text == "hello")


async def a_prompt(daemon: Daemon, client: Client) -> tuple[Talk, str]:
    """A session that asks, and the prompt's id."""
    talk = Talk(client, await client.start_session(NewConversation(str(daemon.work), provider="claude")))
    await talk.say("tool")
    events = await talk.until("permission_request")
    return talk, events[-1].permission_request.request_id


async def test_an_answer_by_tcp_is_audited_with_its_address(daemon: Daemon) -> None:
    async with open_client(daemon.paths) as local, open_client(await by_tcp(daemon)) as remote:
        talk, prompt = await a_prompt(daemon, local)
        await remote.answer_permission(prompt, v1.ALLOW_ONCE)
        await talk.until("permission_resolved")
        async with aclosing(local.audit.records(AuditFilter(session_id=talk.session_id))) as records:
            peers = [row.peer async for row in records if row.request_id == prompt]
        assert any("TCP from 127.0.0.1" in peer for peer in peers)


async def test_an_agents_own_process_may_not_answer_by_tcp(daemon: Daemon, tmp_path: Path) -> None:
    answerer = tmp_path / "answer.py"
    async with open_client(daemon.paths) as local:
        _, prompt = await a_prompt(daemon, local)
        answerer.write_text(ANSWER)
        inside = Talk(local, await local.start_session(NewConversation(str(daemon.work), provider="claude")))
        address = await address_of(daemon)
        await inside.say(f"spawn {sys.executable} {answerer} {address} {token_file(daemon)} {prompt}")
        events = await inside.until(lambda event: "PERMISSION_DENIED" in event.text_delta.text)
        assert events
        assert prompt in {one.permission.request_id for one in await local.pending()}
        # The very same program from outside is a person's.
        argv = [sys.executable, str(answerer), str(address), str(token_file(daemon)), prompt]
        done = await anyio.run_process(argv, env=daemon.environment)
        assert done.stdout.decode().strip() == "OK"


ANSWER = """\
import sys
import grpc
from betcode.v1 import agent_pb2 as v1
from betcode.v1.agent_pb2_grpc import AgentServiceStub

address, token, prompt = sys.argv[1:]
metadata = (("authorization", "Bearer " + open(token).read().strip()),)
response = v1.PermissionResponse(request_id=prompt, decision=v1.ALLOW_ONCE)
with grpc.insecure_channel(address, options=[("grpc.enable_http_proxy", 0)]) as channel:
    try:
        AgentServiceStub(channel).AnswerPermission(v1.AnswerPermissionRequest(response=response), metadata=metadata)
        print("OK")
    except grpc.RpcError as error:
        print(error.code().name)
"""


@pytest.mark.behaviour("error.code.rate-limited", "error.details.retry-after", "error.status.resource-exhausted")
async def test_too_many_messages_are_refused_by_tcp_and_never_by_the_socket(daemon: Daemon) -> None:
    async def no_patience(_: float) -> None:
        raise AssertionError("nobody waits a minute without a word")

    async with open_client(await by_tcp(daemon), sleep=no_patience) as remote, open_client(daemon.paths) as local:
        session = await remote.start_session(NewConversation(str(daemon.work), provider="claude"))
        for _ in range(3):
            await remote.send(session, "say hello")
        with pytest.raises(ClientError) as refused:
            await remote.send(session, "say hello")
        assert (refused.value.code, refused.value.message) == ("RATE_LIMITED", "Rate limit exceeded")
        assert 0 < (refused.value.retry_after_s or 0) <= 60
        for _ in range(5):
            await local.send(session, "say hello")


async def test_a_rate_limited_message_is_refused_and_its_stream_continues(daemon: Daemon) -> None:
    async with open_client(await by_tcp(daemon)) as remote:
        session = await remote.start_session(NewConversation(str(daemon.work), provider="claude"))
        conversation = remote.converse(session)
        async with aclosing(conversation.events()) as events:
            await anext(events)
            said = [await conversation.say("say hello") for _ in range(4)]
            with anyio.fail_after(PATIENCE_S):
                while (event := await anext(events)).error.code != "RATE_LIMITED":
                    pass
        assert event.error.details["message_id"] == said[-1]
        assert int(event.error.details["retry_after_ms"]) > 0
        assert not event.error.is_fatal
        assert said[-1] not in conversation.unacknowledged


FOLLOW = """\
import sys
import anyio
from pathlib import Path
from betcode.client import ClientIdentity, open_client
from betcode.config.paths import Paths, Remote
from betcode.config.tcp_address import parse_address

address, token, session = sys.argv[1:]
remote = Remote(parse_address(address), Path(token))

async def main():
    async with open_client(Paths(Path("/"), Path("/"), Path("/none"), remote), ClientIdentity("phone")) as client:
        async for event in client.follow(session):
            print("here", flush=True)

anyio.run(main)
"""


async def test_the_handler_of_a_phone_whose_network_stops_ends(daemon: Daemon, tmp_path: Path) -> None:
    session = await new_session(daemon, tmp_path)
    async with typist(daemon, session, "ben") as ben:
        argv = [sys.executable, "-c", FOLLOW, str(await address_of(daemon)), str(token_file(daemon)), session]
        phone = await anyio.open_process(argv, env=daemon.environment, stdout=subprocess.DEVNULL)
        try:
            await ben.until(lambda one: "phone" in one.present)
            phone.send_signal(signal.SIGSTOP)  # its kernel still acknowledges, and nobody answers
            await ben.until(lambda one: "phone" not in one.present)
        finally:
            phone.kill()
            await phone.wait()


async def test_connections_past_the_limit_are_refused_until_one_closes(daemon: Daemon) -> None:
    address = await address_of(daemon)

    async def answers() -> bool:
        async with tcp_channel(daemon) as channel:
            check: aio.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary("/grpc.health.v1.Health/Check")
            try:
                await check(b"", timeout=5)
            except aio.AioRpcError as error:
                return error.code() not in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED)
            return True

    async with AsyncExitStack() as crowd:
        for _ in range(40):
            stream = await anyio.connect_tcp(address.host, address.port)
            await crowd.enter_async_context(stream)
        with anyio.fail_after(PATIENCE_S):
            while await answers():  # silent connections are closed after a while: others take their place
                await crowd.enter_async_context(await anyio.connect_tcp(address.host, address.port))
        assert await daemon.serves(), "the unix socket is not concerned"
    with anyio.fail_after(PATIENCE_S):
        while not await answers():  # noqa: ASYNC110
            await anyio.sleep(0.05)


async def test_clients_have_names_by_tcp_too(daemon: Daemon, tmp_path: Path) -> None:
    session = await new_session(daemon, tmp_path)
    async with (
        typist(daemon, session, "ben") as ben,
        open_client(await by_tcp(daemon), ClientIdentity("ann")) as ann,
        aclosing(ann.follow(session)) as events,
    ):
        await anext(events)
        await ben.until(lambda one: "ann" in one.present)
