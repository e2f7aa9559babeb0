"""Requests as a release's client sent them, byte for byte: how they are recorded, kept and sent again.

At a release: `PYTHONPATH=tests python -m support.recordings.client_requests tests/contract/requests/VERSION.jsonl`.
"""

import base64
import json
import sys
import tempfile
from collections.abc import AsyncIterator, Iterable
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import grpc
from grpc import aio

from betcode.client import Client, ClientError, NewConversation, open_client
from betcode.client.address import grpc_target
from betcode.config.paths import Paths, choose_paths
from betcode.domain.permissions.audit import AuditFilter
from betcode.server import Release
from betcode.v1 import admin_pb2, agent_pb2
from support.daemon.in_process import served
from support.patience import PATIENCE_S

Context = aio.ServicerContext[bytes, bytes]


@dataclass
class Recorded:
    """One call: its requests and the status that it ended with; OK where its client left it."""

    method: str  # as gRPC spells it, /package.Service/Method
    requests: list[bytes] = field(default_factory=list)
    status: str = "OK"

    def line(self) -> str:
        requests = [base64.b64encode(each).decode() for each in self.requests]
        return json.dumps({"method": self.method, "status": self.status, "requests": requests})


def recorded_in(path: Path) -> list[Recorded]:
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    return [
        Recorded(each["method"], [base64.b64decode(data) for data in each["requests"]], each["status"])
        for each in lines
    ]


class Recorder(grpc.GenericRpcHandler):
    """Stands between a client and a daemon, and keeps what the client sends."""

    def __init__(self, channel: aio.Channel) -> None:
        self._channel = channel
        self.calls: list[Recorded] = []

    def service(self, details: grpc.HandlerCallDetails) -> "grpc.RpcMethodHandler[bytes, bytes]":
        method: str = details.method
        metadata = [pair for pair in details.invocation_metadata or () if pair[0].startswith("x-")]

        async def carry(requests: AsyncIterator[bytes], context: Context) -> AsyncIterator[bytes]:
            kept = Recorded(method)
            self.calls.append(kept)

            async def copied() -> AsyncIterator[bytes]:
                async for request in requests:
                    kept.requests.append(request)
                    yield request

            call: aio.StreamStreamMultiCallable[bytes, bytes] = self._channel.stream_stream(method)
            try:
                async for answer in call(copied(), metadata=metadata):
                    yield answer
            except aio.AioRpcError as error:
                kept.status = error.code().name
                context.set_trailing_metadata(tuple(error.trailing_metadata()))
                await context.abort(error.code(), error.details() or "")

        return grpc.stream_stream_rpc_method_handler(carry)


@asynccontextmanager
async def recording(paths: Paths, channel: aio.Channel) -> AsyncIterator[tuple[Paths, Recorder]]:
    """A socket beside the daemon's whose clients are recorded."""
    between = choose_paths(
        {}, state_dir=paths.state_dir, config_dir=paths.config_dir, socket=paths.state_dir / "between.sock"
    )
    between.ticket_socket.symlink_to(paths.ticket_socket)
    recorder = Recorder(channel)
    server = aio.server()
    server.add_generic_rpc_handlers((recorder,))
    server.add_insecure_port(grpc_target(between.socket))
    await server.start()
    try:
        yield between, recorder
    finally:
        await server.stop(0)


async def use_everything(client: Client) -> None:
    """Every call that our client makes, each at least once; what is refused is a call too."""
    await client.is_serving()
    await client.health()
    environment = {"PATH": "/usr/bin:/bin", "HOME": "/", "BETCODE_DEMO_SPEED": "0"}
    session = await client.start_session(
        NewConversation("/", provider="demo", metadata={"a": "b"}, environment=environment)
    )
    accepted = await client.send(session, "hello")
    await _first(client.follow(session))
    await _until_idle(client, session)
    conversation = client.converse(session, accepted.sequence)
    async with aclosing(conversation.events()) as events:
        async for event in events:
            if event.sequence:
                break
        await conversation.say("thank you")
        await conversation.cancel(cancel_queued=True)
        await conversation.finish()
        async for _ in events:
            pass
    await _until_idle(client, session)
    await client.list_sessions(working_directory="/", statuses=("idle", "active"), limit=5)
    await client.rename(session, "recorded")
    await client.search("hello", limit=1)
    await client.pending(session)
    await _first(client.watch_pending(session))
    await client.grants.list(session)
    await client.grants.set(session, "Bash", pattern="Bash(ls)")
    await client.grants.clear(session)
    await client.input_lock.request(session)
    await client.cancel(session)
    await client.set_budget(session, agent_pb2.Budget(max_turns=100))
    await _all(client.export(session, "json"))
    await _all(client.audit.records(AuditFilter()))
    await _all(client.audit.verify())
    await client.policy.check("Bash", '{"command": "ls"}', working_directory="/")
    await _all(client.policy.try_rules('{"permissions": {"deny": ["Bash"]}}', "/settings.json", 1))
    await client.policy.trust("/usr", trusted=False)
    await client.policy.trusted()
    for refused in (
        client.answer_permission("no-such-prompt", agent_pb2.ALLOW_ONCE),
        client.answer_question("no-such-question", {"a": "b"}),
        client.input_lock.answer(session, "nobody", grant=True),
        client.compact(session),
        client.fork(session, name="recorded too"),
        client.stop_daemon(1, admin_pb2.AGENTS_AT_STOP_ALL_STAY),
    ):
        with suppress(ClientError):
            await refused
    with suppress(ClientError):
        await _all(client.read_blob(session, "0" * 64))
    await client.close(session)
    await client.delete(session)


async def _first(stream: "AsyncIterator[object]") -> None:
    with anyio.move_on_after(1.0):
        async with aclosing(stream) as items:  # type: ignore[type-var] # every stream of ours is a generator
            await anext(items)


async def _all(stream: "AsyncIterator[object]") -> None:
    async with aclosing(stream) as items:  # type: ignore[type-var]
        async for _ in items:
            pass


async def _until_idle(client: Client, session: str) -> None:
    with anyio.fail_after(PATIENCE_S):
        while (await client.list_sessions()).sessions[0].status == "active":  # noqa: ASYNC110
            await anyio.sleep(0.01)


async def record() -> Iterable[Recorded]:
    with tempfile.TemporaryDirectory() as directory:
        async with (
            served(Path(directory), Release()) as (paths, channel),
            recording(paths, channel) as (between, recorder),
            open_client(between) as client,
        ):
            await use_everything(client)
        # Waiting for the end of a turn is no part of it.
        kept: list[Recorded] = []
        for call in recorder.calls:
            if not (kept and call.method.endswith("/ListSessions") and kept[-1].requests == call.requests):
                kept.append(call)
        return kept


if __name__ == "__main__":
    lines = [call.line() for call in anyio.run(record)]
    Path(sys.argv[1]).write_text("\n".join(lines) + "\n")
    print(f"{len(lines)} calls")
