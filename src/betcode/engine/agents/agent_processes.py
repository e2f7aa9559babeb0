"""The processes of this daemon's agents, as the kernel reports them; see `betcode.holder.process_tree`."""

import logging
import sys
from collections.abc import Iterable
from dataclasses import dataclass

import anyio
import anyio.to_thread

from betcode.holder.launch import is_holder
from betcode.holder.platform import (
    HOLDER_MARKER,
    Process,
    all_marked,
    control_group,
    environment_markers,
    has_children,
    process,
    processes,
)
from betcode.holder.process_tree import Judgement, Key, Markers, Membership, ProcessTree, scope_run

logger = logging.getLogger(__name__)

OBSERVE_EVERY_S = 5.0
_READ_WITHIN_S = 2.0  # an environment; its process may hold up whoever reads it
_READS_AT_ONCE = 4
_ATTEMPTS = 5  # parents may end while a process is judged

_SUSPECT = Judgement(Membership.SUSPECT)


@dataclass(frozen=True, slots=True)
class OwnProcesses:
    """Programs that the daemon runs in repositories, such as git: they do not act for a person."""

    daemon_pid: int = 0
    marker: str = ""  # in their environment; empty: none are run


class AgentProcesses:
    """Judges processes. What it knows is in memory, from the start or the adoption of each holder on."""

    def __init__(self, own: OwnProcesses = OwnProcesses()) -> None:  # noqa: B008 it is frozen
        self.tree = ProcessTree(own_pid=own.daemon_pid, ordered=sys.platform == "linux")
        if own.marker:
            self.tree.add_marker(own.marker)
        self._readers = anyio.CapacityLimiter(_READS_AT_ONCE)

    async def begin(self, runs: Iterable[tuple[str, int]]) -> None:
        """Learn which holders live, of these runs with their stored pids, before anybody is judged."""
        stored = dict(runs)
        for run_id in stored:
            self.expect(run_id)
        found = await anyio.to_thread.run_sync(_living_holders, stored)
        for holder, run_id in found:
            self._add(holder, run_id)
        await self.observe()

    def expect(self, run_id: str) -> None:
        """A holder of this run is about to be started: it and its agent are recognised by their environments."""
        self.tree.add_marker(run_id, run_id)

    def add(self, pid: int, run_id: str) -> None:
        """The holder of a run, as it reported itself to the daemon that started it."""
        holder = process(pid)
        if holder is not None:
            self._add(holder, run_id)

    def _add(self, holder: Process, run_id: str) -> None:
        self.tree.add_holder(holder, process(holder.parent), run_id)

    async def release(self, run_id: str) -> None:
        """The agent has ended, and its holder is about to leave: without children, nothing of the run is left."""
        for (pid, start), run in list(self.tree.holders.items()):
            holder = process(pid) if run == run_id else None
            if holder is None or holder.start != start:
                continue
            if not await anyio.to_thread.run_sync(has_children, pid):
                self.tree.release_holder(run_id)

    def left_of(self, run_id: str) -> list[Process]:
        """Living processes that were seen below the holder of a run."""
        found = (process(pid) for pid, start in self.tree.seen_of(run_id) if _is_alive((pid, start)))
        return [one for one in found if one is not None]

    async def judge(self, pid: int) -> Judgement:
        """Whether a process belongs to an agent. One that was judged before costs one read of its state."""
        for _ in range(_ATTEMPTS):
            known = self.tree.known(pid, process)
            if known is not None:
                return known
            markers = await self._markers(self.tree.unknown_above(pid, process))
            if markers is None:
                return _SUSPECT
            found = self.tree.judge(pid, process, markers)
            if found is not None:
                return found
        return _SUSPECT

    async def observe(self) -> None:
        """Learn from the process table as it is now."""
        self.tree.observe(await anyio.to_thread.run_sync(processes))

    async def pids(self) -> tuple[list[int], list[int]]:
        """Every living process: those not known to be outside of all agents, and those that are."""
        table = await anyio.to_thread.run_sync(processes)
        self.tree.observe(table)
        alive = [(one.pid, one.start) for one in table.values() if not one.zombie]
        outside = self.tree.outside
        return [key[0] for key in alive if key not in outside], [key[0] for key in alive if key in outside]

    async def watch(self) -> None:
        """Observe again and again while there are agents."""
        while True:
            await anyio.sleep(OBSERVE_EVERY_S)
            if self.tree.inside:
                await self.observe()

    async def _markers(self, keys: list[Key]) -> Markers | None:
        """None: a process does not let its environment be read."""
        with anyio.move_on_after(_READ_WITHIN_S):
            return await anyio.to_thread.run_sync(_read_markers, keys, abandon_on_cancel=True, limiter=self._readers)
        return None


def _read_markers(keys: list[Key]) -> Markers:
    return {key: {*environment_markers(key[0]), scope_run(control_group(key[0]))} for key in keys}


def _is_alive(key: Key) -> bool:
    found = process(key[0])
    return found is not None and found.start == key[1] and not found.zombie


def _living_holders(stored: dict[str, int]) -> list[tuple[Process, str]]:
    """By their environments, and, of releases that set none, by the pids that were stored."""
    found = {run_id: one for run_id, one in all_marked(HOLDER_MARKER) if run_id in stored}
    for run_id, pid in stored.items():
        if run_id not in found and pid > 0 and is_holder(pid) and (one := process(pid)) is not None:
            found[run_id] = one
    return [(one, run_id) for run_id, one in found.items()]
