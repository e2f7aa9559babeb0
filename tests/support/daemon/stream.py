"""The raw API in few words: one Converse stream, one follower, one status; no client library in between."""

import uuid
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import grpc
from google.rpc.error_details_pb2 import ErrorInfo  # type: ignore[import-untyped]
from grpc import aio
from grpc_status import rpc_status

from betcode.v1 import agent_pb2 as v1
from support.daemon.process import Agent
from support.patience import PATIENCE_S

STANDING = ("input_lock", "presence")  # how things are, at any moment; not what happened
Wanted = str | Callable[[v1.AgentEvent], bool]


def kind_of(event: v1.AgentEvent) -> str:
    return event.WhichOneof("event") or ""


def kinds(events: Iterable[v1.AgentEvent]) -> list[str]:
    return [kind_of(event) for event in events]


def sequences(events: Iterable[v1.AgentEvent]) -> list[int]:
    return [event.sequence for event in events if event.sequence]


def text_of(events: Iterable[v1.AgentEvent]) -> str:
    """What the agent said in the end."""
    return "".join(event.text_delta.text for event in events if event.text_delta.is_complete)


def is_idle(event: v1.AgentEvent) -> bool:
    return event.status_change.status == v1.IDLE


def message(text: str, message_id: str = "") -> v1.AgentRequest:
    return v1.AgentRequest(message=v1.UserMessage(content=text, idempotency_key=message_id or str(uuid.uuid4())))


class Stream:
    """One open Converse stream and everything it brought; who is there and who may type is kept beside the rest."""

    def __init__(self, call: "aio.StreamStreamCall[v1.AgentRequest, v1.AgentEvent]") -> None:
        self.call = call
        self.events: list[v1.AgentEvent] = []
        self.standing: list[v1.AgentEvent] = []

    async def send(self, request: v1.AgentRequest) -> None:
        await self.call.write(request)

    async def say(self, text: str, message_id: str = "") -> None:
        await self.send(message(text, message_id))

    async def answer(self, request_id: str, decision: v1.PermissionDecision.ValueType = v1.ALLOW_ONCE) -> None:
        await self.send(v1.AgentRequest(permission=v1.PermissionResponse(request_id=request_id, decision=decision)))

    async def next(self) -> v1.AgentEvent | None:
        """The next event; None at the end of the stream."""
        with anyio.fail_after(PATIENCE_S):
            while isinstance(event := await self.call.read(), v1.AgentEvent):
                if kind_of(event) not in STANDING:
                    self.events.append(event)
                    return event
                self.standing.append(event)
        return None

    async def until(self, wanted: Wanted) -> list[v1.AgentEvent]:
        """The events up to and with the first that is wanted."""
        seen: list[v1.AgentEvent] = []
        while (event := await self.next()) is not None:
            seen.append(event)
            if kind_of(event) == wanted if isinstance(wanted, str) else wanted(event):
                return seen
        raise AssertionError(f"the stream ended before {wanted}: {kinds(seen)}")

    async def turn(self, text: str) -> list[v1.AgentEvent]:
        await self.say(text)
        return await self.until(is_idle)

    async def rest(self) -> list[v1.AgentEvent]:
        """Everything up to the end of the stream."""
        seen: list[v1.AgentEvent] = []
        while (event := await self.next()) is not None:
            seen.append(event)
        return seen

    @property
    def session_id(self) -> str:
        return next(event.session_info.session_id for event in self.events if kind_of(event) == "session_info")


@asynccontextmanager
async def conversation(agent: Agent, start: v1.StartConversation | None = None, **fields: Any) -> AsyncIterator[Stream]:
    """A Converse stream that began with `start`; leaving the block cancels it."""
    call = agent.Converse(metadata=(("x-client-id", "tester"), ("x-client-type", "test")))
    try:
        await call.write(v1.AgentRequest(start=start or v1.StartConversation(**fields)))
        yield Stream(call)
    finally:
        call.cancel()


async def history(agent: Agent, session_id: str, upto: Wanted, after: int = 0) -> list[v1.AgentEvent]:
    """The history that ResumeSession brings, up to and with the first event that is wanted."""
    seen: list[v1.AgentEvent] = []
    call = agent.ResumeSession(v1.ResumeSessionRequest(session_id=session_id, from_sequence=after))
    try:
        with anyio.fail_after(PATIENCE_S):
            async for event in call:
                if event.sequence:
                    seen.append(event)
                if kind_of(event) == upto if isinstance(upto, str) else upto(event):
                    return seen
    finally:
        call.cancel()
    raise AssertionError(f"the stream ended before {upto}: {kinds(seen)}")


async def finished_session(agent: Agent, directory: str, text: str = "say one two three") -> str:
    """The id of a session that has had one turn."""
    async with conversation(agent, working_directory=directory) as stream:
        await stream.turn(text)
        return stream.session_id


def info_of(error: aio.AioRpcError) -> ErrorInfo:
    """The google.rpc.ErrorInfo of a status."""
    status = rpc_status.from_call(error)  # type: ignore[arg-type]
    assert status is not None
    info = ErrorInfo()
    assert status.details[0].Unpack(info)
    return info


async def status_of(call: "aio.Call") -> grpc.StatusCode:
    with anyio.fail_after(PATIENCE_S):
        return await call.code()
