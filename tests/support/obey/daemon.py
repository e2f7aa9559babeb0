"""A daemon that is spoken to by the obey API, and campaigns for its sessions."""

import json
import uuid
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import anyio
from google.rpc.error_details_pb2 import ErrorInfo  # type: ignore[import-untyped]
from grpc import aio
from grpc_status import rpc_status

from betcode.client.address import grpc_target
from betcode.domain.values.identifiers import parse_session_id
from obey.local.v1 import local_pb2 as pb
from obey.local.v1.local_pb2_grpc import LocalDaemonServiceStub
from support.daemon.process import Daemon, agent_program, running_daemon
from support.patience import PATIENCE_S

if TYPE_CHECKING:
    from obey.local.v1.local_pb2_grpc import LocalDaemonServiceAsyncStub

Stub: TypeAlias = "LocalDaemonServiceAsyncStub"
Activities: TypeAlias = "aio.UnaryStreamCall[Any, pb.SessionActivityEvent]"
Received = TypeVar("Received")
_CHANNEL = [("grpc.use_local_subchannel_pool", 1)]


@dataclass(frozen=True, slots=True)
class Told:
    """An error as a client has it."""

    status: str
    message: str
    reason: str
    domain: str
    trailer: str
    facts: Mapping[str, str]


def told(error: aio.AioRpcError) -> Told:
    status = rpc_status.from_call(error)  # type: ignore[arg-type]
    assert status is not None
    info = ErrorInfo()
    assert status.details[0].Unpack(info)
    trailers = dict(error.trailing_metadata() or ())
    return Told(
        error.code().name,
        error.details() or "",
        info.reason,
        info.domain,
        str(trailers.get("obey-error-code", "")),
        dict(info.metadata),
    )


def add_campaign(home: Path, root: Path, name: str, campaign_id: str = "") -> str:
    """A campaign in that directory, known to the registry; its id."""
    campaign_id = campaign_id or str(uuid.uuid4())
    marker = root / ".campaign"
    marker.mkdir(parents=True, exist_ok=True)
    (marker / "campaign.yaml").write_text(f"id: {campaign_id}\nname: {name}\ntype: tools\n")
    registry = home / ".obey" / "campaign" / "registry.json"
    registry.parent.mkdir(parents=True, exist_ok=True)
    known: dict[str, Any] = {"version": 3, "campaigns": {}}
    if registry.exists():
        known = json.loads(registry.read_text())
    known["campaigns"][campaign_id] = {"name": name, "path": str(root), "type": "tools", "status": "active"}
    registry.write_text(json.dumps(known))
    return campaign_id


class Obeyed:
    """A daemon with one campaign, and a client of it."""

    def __init__(self, daemon: Daemon, campaign_id: str, stub: Stub) -> None:
        self.daemon = daemon
        self.campaign_id = campaign_id
        self.stub = stub

    @property
    def root(self) -> Path:
        """Of the campaign."""
        return self.daemon.work

    async def create(
        self, provider: pb.SessionProvider.ValueType = pb.SESSION_PROVIDER_DEMO, **fields: Any
    ) -> pb.SessionInfo:
        fields.setdefault("campaign_id", self.campaign_id)
        if provider == pb.SESSION_PROVIDER_DEMO:
            fields["environment"] = {"BETCODE_DEMO_SPEED": "0", **fields.get("environment", {})}
        request = pb.CreateSessionRequest(provider=provider, **fields)
        return (await self.stub.CreateSession(request, timeout=PATIENCE_S)).session

    async def get(self, session_id: str) -> pb.SessionInfo:
        return await self.stub.GetSession(pb.GetSessionRequest(session_id=session_id), timeout=PATIENCE_S)

    async def send(self, session_id: str, message: str) -> list[pb.SessionActivityEvent]:
        call = self.stub.SendMessage(pb.SendMessageRequest(session_id=session_id, message=message), timeout=PATIENCE_S)
        return [event async for event in call]

    async def at_work(self, session_id: str, message: str) -> Activities:
        """The stream of a message that has begun to be worked on."""
        call = self.stub.SendMessage(pb.SendMessageRequest(session_id=session_id, message=message), timeout=PATIENCE_S)
        first = await call.read()
        assert isinstance(first, pb.SessionActivityEvent)
        assert first.content == "WORKING"
        return call

    async def stop(self, session_id: str, *, graceful: bool = False) -> pb.SessionInfo:
        request = pb.StopSessionRequest(session_id=session_id, graceful=graceful)
        return (await self.stub.StopSession(request, timeout=PATIENCE_S)).session

    async def restart(self, session_id: str, **config: str) -> pb.SessionInfo:
        request = pb.RestartSessionRequest(session_id=session_id, provider_config=config)
        return (await self.stub.RestartSession(request, timeout=PATIENCE_S)).session

    async def listed(self, **fields: Any) -> list[str]:
        answer = await self.stub.ListSessions(pb.ListSessionsRequest(**fields), timeout=PATIENCE_S)
        return [each.id for each in answer.sessions]

    async def until(self, session_id: str, *statuses: pb.SessionStatus.ValueType) -> pb.SessionInfo:
        """Wait, within a bound, for one of these."""
        with anyio.fail_after(PATIENCE_S):
            while (info := await self.get(session_id)).status not in statuses:  # noqa: ASYNC110
                await anyio.sleep(0.01)
        return info

    @asynccontextmanager
    async def other_client(self) -> AsyncIterator[Stub]:
        async with obey_stub(self.daemon.paths.obey_socket) as stub:
            yield stub


@asynccontextmanager
async def obey_stub(socket: Path, options: Sequence[tuple[str, Any]] = ()) -> AsyncIterator[Stub]:
    """A client on a connection of its own."""
    async with aio.insecure_channel(grpc_target(socket), options=[*_CHANNEL, *options]) as channel:
        yield LocalDaemonServiceStub(channel)


@asynccontextmanager
async def obeyed(root: Path, *, settings: Mapping[str, object] | None = None) -> AsyncIterator[Obeyed]:
    """A daemon whose `claude` is tests/support/agents/obedient.py; its working directory is a campaign."""
    campaign_id = add_campaign(root / "home", root / "work", "trial")
    async with (
        running_daemon(root, settings=settings, claude_bin=agent_program(root)) as daemon,
        obey_stub(daemon.paths.obey_socket) as stub,
    ):
        with anyio.fail_after(PATIENCE_S):  # it is opened after the other one
            while not daemon.paths.obey_socket.exists():  # noqa: ASYNC110 - of a file
                await anyio.sleep(0.01)
        yield Obeyed(daemon, campaign_id, stub)


def only(events: Sequence[pb.SessionActivityEvent], kind: pb.ActivityType.ValueType) -> list[pb.SessionActivityEvent]:
    return [event for event in events if event.type == kind]


async def rest(call: "aio.UnaryStreamCall[Any, Received]") -> list[Received]:
    """What a stream still gives, to its end."""
    received: list[Received] = []
    with anyio.fail_after(PATIENCE_S):
        while (each := await call.read()) is not aio.EOF:
            received.append(each)  # type: ignore[arg-type]
    return received


async def refused(call: Any) -> Told:
    """How a call fails; a stream, after all that it gives before."""
    try:
        if hasattr(call, "read"):
            while await call.read() is not aio.EOF:
                pass
        else:
            await call
    except aio.AioRpcError as error:
        return told(error)
    raise AssertionError("the call did not fail")


def how_agents_ended(daemon: Daemon, session_id: str) -> list[str]:
    """Of one session, as the log has it."""
    session, words = parse_session_id(session_id), "the agent ended: "
    lines = (json.loads(line) for line in daemon.log.splitlines())
    told_of = (line["message"] for line in lines if line.get("session_id") == session)
    return [message.removeprefix(words) for message in told_of if message.startswith(words)]
