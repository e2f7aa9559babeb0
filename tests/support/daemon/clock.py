"""A daemon whose clock a test moves, and what its prompts say of their times."""

import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import anyio

from betcode.client import Client, NewConversation, open_client
from betcode.v1 import agent_pb2 as v1
from support.daemon.process import Daemon, agent_program, running_daemon
from support.daemon.session import Talk
from support.patience import PATIENCE_S
from support.rounds.clock import clock_environment, move_clock

HOUR_S = 3600
DAY_S = 86400

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Timed:
    daemon: Daemon
    client: Client

    async def talk(self, budget: v1.Budget | None = None) -> Talk:
        work, environment = str(self.daemon.work), self.daemon.environment
        new = NewConversation(work, provider="claude", environment=environment, budget=budget)
        return Talk(self.client, await self.client.start_session(new))

    async def asked(self, talk: Talk, text: str = "tool") -> v1.PendingPrompt:
        """Say something that makes the agent ask; nobody is attached."""
        before = {prompt.request_id for prompt in await self.client.pending(talk.session_id)}
        await talk.say(text)

        async def new() -> list[v1.PendingPrompt]:
            return [one for one in await self.client.pending(talk.session_id) if one.request_id not in before]

        return (await eventually(new, bool))[0]

    def later(self, seconds: int) -> None:
        move_clock(self.daemon.root, seconds)

    async def left_s(self, prompt: v1.PendingPrompt) -> int:
        """Seconds from when it was asked to its end, as it stands now."""
        (now,) = [one for one in await self.client.pending() if one.request_id == prompt.request_id]
        return now.expires_at.seconds - now.asked_at.seconds

    def stored(self, question: str, *values: object) -> list[tuple[object, ...]]:
        """A look into the database file."""
        db = sqlite3.connect(f"file:{self.daemon.paths.database}?mode=ro", uri=True)
        try:
            return [tuple(row) for row in db.execute(question, values)]
        finally:
            db.close()


async def eventually(
    ask: Callable[[], Awaitable[T]], wanted: Callable[[T], bool], *, within_s: float = PATIENCE_S
) -> T:
    """The first answer that is as wanted."""
    answer = await ask()
    with anyio.move_on_after(within_s):
        while not wanted(answer):
            await anyio.sleep(0.02)
            answer = await ask()
    assert wanted(answer), answer
    return answer


@asynccontextmanager
async def timed_daemon(root: Path, settings: Mapping[str, object] | None = None) -> AsyncIterator[Timed]:
    environment = clock_environment(root)
    program = agent_program(root)
    async with (
        running_daemon(root, settings=settings, claude_bin=program, environment=environment) as daemon,
        open_client(daemon.paths) as client,
    ):
        yield Timed(daemon, client)
