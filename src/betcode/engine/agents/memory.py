"""Memory use of all live agents, and which idle agent is retired when memory is short."""

import logging
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Protocol

import anyio
import anyio.to_thread

from betcode.domain.errors import AgentMemoryExhausted
from betcode.holder.platform import descendants, resident_bytes

logger = logging.getLogger(__name__)

_MB = 1_000_000
RETIRE_WITHIN_S = 10.0


class AgentProcess(Protocol):
    """A live agent as far as its memory is concerned."""

    @property
    def run_id(self) -> str: ...
    @property
    def offset(self) -> int:
        """How far its journal has been read and committed."""
        ...

    @property
    def holder_pid(self) -> int: ...
    @property
    def idle_since(self) -> float | None:
        """On the monotonic clock; None while it works, waits for a person or holds something."""
        ...

    @property
    def agent(self) -> tuple[int, int]:
        """Its pid and start time; 0 where they are not known yet."""
        ...

    @property
    def is_outdated(self) -> bool:
        """The trust in its project changed since it was started: the next agent loads other files."""
        ...

    async def belongs_to(self, project: str) -> bool:
        """Whether trust in this project decides which files it loads."""
        ...

    def outdate(self) -> None:
        """Retire it as soon as it is idle."""
        ...

    @property
    def ended(self) -> anyio.Event: ...
    def retire_soon(self) -> None: ...
    async def retire(self) -> None: ...
    async def end_with_daemon(self) -> None: ...


class AgentMemory:
    """Measures, and makes room for one more agent where it can."""

    def __init__(self, limit_bytes: int) -> None:
        self.limit_bytes = limit_bytes
        self._live: set[AgentProcess] = set()
        self._measured = 0

    def add(self, agent: AgentProcess) -> None:
        self._live.add(agent)

    def remove(self, agent: AgentProcess) -> None:
        self._live.discard(agent)

    @property
    def live(self) -> Iterable[AgentProcess]:
        return tuple(self._live)

    def idle_too_long(self, since: float, *, keep: int) -> list[AgentProcess]:
        """Those idle since then or before, the longest idle of those that are more than `keep`, and outdated ones."""
        idle = sorted((agent.idle_since, number, agent) for number, agent in enumerate(self._live) if agent.idle_since)
        too_many = len(idle) - keep
        return [
            agent
            for place, (began, _, agent) in enumerate(idle)
            if began <= since or place < too_many or agent.is_outdated
        ]

    @property
    def used_bytes(self) -> int:
        """What all live agents, their holders and their tools had resident when they were last measured."""
        return self._measured

    async def measure(self) -> int:
        """What they have resident now, as far as that can be seen."""
        holders = [agent.holder_pid for agent in self._live if agent.holder_pid > 0]
        # Without a free descriptor the process table cannot be read, and nobody must suffer from that.
        with suppress(OSError):
            # Reading the process table takes milliseconds.
            self._measured = await anyio.to_thread.run_sync(_resident, holders) if holders else 0
        return self._measured

    async def make_room(self) -> None:
        """Retire the longest idle agents until the rest fit.

        Raises:
            AgentMemoryExhausted: they do not, and none of them is idle.
        """
        while self._live and (used := await self.measure()) >= self.limit_bytes:
            idle = [agent for agent in self._live if agent.idle_since is not None]
            if not idle:
                raise AgentMemoryExhausted(used // _MB, self.limit_bytes // _MB)
            longest = min(idle, key=lambda agent: agent.idle_since or 0.0)
            logger.info("retiring the longest idle agent: %d of %d MB in use", used // _MB, self.limit_bytes // _MB)
            with anyio.move_on_after(RETIRE_WITHIN_S):
                await longest.retire()
            self._live.discard(longest)


def _resident(holders: Sequence[int]) -> int:
    trees = [*holders, *(process.pid for process in descendants(*holders))]
    return sum(resident_bytes(pid) for pid in trees)
