"""Sessions of the obedient agent that are about to be compacted, each in a directory of its own."""

from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path

import anyio

from betcode.client import Client, NewConversation
from betcode.v1 import agent_pb2 as v1
from support.daemon.process import Daemon
from support.daemon.session import Talk
from support.patience import PATIENCE_S


def is_compacting(event: v1.AgentEvent) -> bool:
    return event.status_change.status == v1.COMPACTING


@dataclass(slots=True)
class Place:
    """A session and its directory; a file in it directs the agent."""

    talk: Talk
    work: Path

    def direct(self, *lines: str) -> None:
        """How the agent compacts from now on."""
        (self.work / "compact").write_text("\n".join(lines))

    def let_go(self, name: str = "go") -> None:
        """What waits for this goes on."""
        (self.work / name).touch()

    async def seen(self, *, after: int = 0, whole: bool = False) -> list[v1.AgentEvent]:
        """What a client that attaches now is given up to the newest event."""
        newest = (await self.talk.summary()).last_sequence
        return await read(self.talk.client, self.talk.session_id, newest, after=after, whole=whole)


async def a_place(daemon: Daemon, client: Client, work: Path, *said: str) -> Place:
    """A session in which this was said already."""
    work.mkdir(parents=True, exist_ok=True)
    new = NewConversation(str(work), provider="claude", environment=daemon.environment)
    talk = Talk(client, await client.start_session(new))
    for text in said:
        await talk.turn(text)
    return Place(talk, work)


async def read(
    client: Client, session_id: str, newest: int, *, after: int = 0, whole: bool = False
) -> list[v1.AgentEvent]:
    events: list[v1.AgentEvent] = []
    with anyio.fail_after(PATIENCE_S):
        async with aclosing(client.follow(session_id, after, include_compacted=whole)) as followed:
            async for event in followed:
                events.append(event)
                if event.sequence >= newest:
                    break
    return events


def boundary_of(events: Sequence[v1.AgentEvent]) -> v1.CompactionBoundary:
    """What the only compaction among them says."""
    [told] = [event.compaction for event in events if event.WhichOneof("event") == "compaction"]
    return told


def snapshots(events: Sequence[v1.AgentEvent]) -> list[v1.SessionInfo]:
    return [event.session_info for event in events if event.sequence == 0 and event.session_info.is_compacted]
