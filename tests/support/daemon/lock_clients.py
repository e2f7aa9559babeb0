"""Clients with names of their own at one session, each with what it was shown of the lock and of the others."""

from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from pathlib import Path

import anyio

from betcode.client import Client, ClientIdentity, NewConversation, open_client
from betcode.v1 import agent_pb2 as v1
from support.daemon.process import Daemon
from support.patience import PATIENCE_S


class Typist:
    """One client that follows a session."""

    def __init__(self, client: Client, session_id: str) -> None:
        self.client = client
        self.session_id = session_id
        self.name = client.identity.client_id
        self.lock: v1.InputLockChange | None = None  # the newest
        self.presence: list[v1.Presence] = []
        self.events: list[v1.AgentEvent] = []  # with a number
        self._changed = anyio.Event()

    @property
    def holder(self) -> str | None:
        return self.lock.holder_client_id if self.lock is not None else None

    @property
    def present(self) -> dict[str, str]:
        """Types by client, as last told."""
        return {one.client_id: one.client_type for one in self.presence[-1].clients} if self.presence else {}

    @property
    def heard(self) -> list[str]:
        """What people said."""
        return [event.user_input.content for event in self.events if event.WhichOneof("event") == "user_input"]

    async def say(self, text: str) -> None:
        await self.client.send(self.session_id, text)

    async def until(self, wanted: Callable[["Typist"], bool]) -> None:
        with anyio.fail_after(PATIENCE_S):
            while not wanted(self):
                await self._changed.wait()

    async def holds(self, name: str) -> None:
        """Wait until it is told that this client has the lock; "": nobody."""
        await self.until(lambda one: one.holder == name)

    async def asked_by(self, name: str) -> v1.InputLockChange:
        """Wait until it is told that this client asks; "": nobody does."""
        await self.until(lambda one: one.lock is not None and one.lock.asking_client_id == name)
        assert self.lock is not None
        return self.lock

    async def watch(self) -> None:
        async with aclosing(self.client.follow(self.session_id)) as events:
            async for event in events:
                match event.WhichOneof("event"):
                    case "input_lock":
                        self.lock = event.input_lock
                    case "presence":
                        self.presence.append(event.presence)
                    case _ if event.sequence:
                        self.events.append(event)
                    case _:
                        pass
                changed, self._changed = self._changed, anyio.Event()
                changed.set()


@asynccontextmanager
async def typist(daemon: Daemon, session_id: str, name: str, kind: str = "test") -> AsyncIterator[Typist]:
    """A client that follows while the block lasts, and knows how things stand."""
    async with open_client(daemon.paths, ClientIdentity(name, kind)) as client, anyio.create_task_group() as tasks:
        one = Typist(client, session_id)
        tasks.start_soon(one.watch)
        await one.until(lambda one: one.lock is not None and name in one.present)
        yield one
        tasks.cancel_scope.cancel()


@asynccontextmanager
async def caller(daemon: Daemon, name: str) -> AsyncIterator[Client]:
    """A client that only calls and follows nothing."""
    async with open_client(daemon.paths, ClientIdentity(name, "script")) as client:
        yield client


async def new_session(daemon: Daemon, directory: Path) -> str:
    async with caller(daemon, "maker") as client:
        return await client.start_session(NewConversation(str(directory), environment=daemon.environment))
