"""Determines which processes belong to agents: everything that is or was below a holder.

The classification uses only data of the kernel: parents, start times, session ids, environments and control groups.
Files in the state directory are not read, because an agent can write them.

A holder is a child subreaper: while it lives, whatever loses its parent becomes its child. When a holder dies, its
descendants become children of a reaper (process 1, or the parent of the holder) and look like any other program that
the reaper started. So a child of a reaper is a suspect when it was started after a holder that died, unless it was seen
as a child of the reaper while the holder lived.
"""

from collections.abc import Callable, Collection, Mapping
from enum import Enum

from betcode.holder.platform import Process

Key = tuple[int, int]  # pid and start time: names a process for good
ReadProcess = Callable[[int], "Process | None"]
Markers = Mapping[Key, Collection[str]]  # markers in environments, of the processes whose environment was read

SCOPE_PREFIX = "betcode-run-"  # of the systemd scopes of holders
_INIT = 1


class Membership(Enum):
    OUTSIDE = "outside"
    INSIDE = "inside"  # is, or was seen, below a holder
    SUSPECT = "suspect"  # started while a holder lived that has since died; its parent is unknown
    GONE = "gone"  # the process has ended


class Judgement:
    """Whether a process belongs to an agent, and to which run if known."""

    __slots__ = ("membership", "run_id")

    def __init__(self, membership: Membership, run_id: str = "") -> None:
        self.membership = membership
        self.run_id = run_id

    @property
    def is_outside(self) -> bool:
        return self.membership is Membership.OUTSIDE


_OUTSIDE = Judgement(Membership.OUTSIDE)
_GONE = Judgement(Membership.GONE)


class ProcessTree:
    """The known processes. `observe` reads the whole table, `judge` classifies one process."""

    def __init__(self, *, own_pid: int = 0, ordered: bool = True) -> None:
        self._own_pid = own_pid  # children of the daemon are not remembered as outside: some run for agents
        self._ordered = ordered  # whether start times can be compared
        self._holders: dict[Key, str] = {}  # with their runs
        self._reapers: dict[int, int] = {_INIT: 0}  # pids, with their start times; 0: any
        self._inside: dict[Key, Judgement] = {}
        self._outside: set[Key] = set()
        self._sessions: dict[int, tuple[int, Judgement]] = {}  # led by processes of agents: by pid, with start time
        self._markers: dict[str, str] = {}  # values in environments that count, with the run
        self._lost_since: int | None = None  # start of the oldest holder that died since the last observation
        self._loose = False  # at the last observation, a process of an agent lived without a holder

    @property
    def holders(self) -> Mapping[Key, str]:
        return self._holders

    @property
    def inside(self) -> list[Key]:
        """Return the processes that belong to agents; some may have ended since the last observation."""
        return [*self._holders, *self._inside]

    @property
    def outside(self) -> Collection[Key]:
        return self._outside

    def seen_of(self, run_id: str) -> list[Key]:
        """Processes that were seen below the holder of a run; suspects are not among them."""
        return [
            key
            for key, known in self._inside.items()
            if known.run_id == run_id and known.membership is Membership.INSIDE
        ]

    # ------------------------------------------------------------ facts from the daemon

    def add_marker(self, marker: str, run_id: str = "") -> None:
        """Treat a process whose environment has this value as part of an agent."""
        self._markers[marker] = run_id

    def add_holder(self, holder: Process, reaper: Process | None, run_id: str) -> None:
        """Treat the descendants of this process as part of the run; `reaper` is its parent."""
        self._holders[holder.pid, holder.start] = run_id
        self.add_marker(run_id, run_id)
        if reaper is not None and reaper.pid != _INIT:
            self._reapers[reaper.pid] = reaper.start
        # The holder and its agent may have been observed before they were registered.
        self._outside = {key for key in self._outside if self._ordered and key[1] < holder.start}

    def release_holder(self, run_id: str) -> None:
        """Forget a holder without descendants: no process of its run is alive."""
        self._holders = {key: run for key, run in self._holders.items() if run != run_id}
        self._inside = {key: known for key, known in self._inside.items() if known.run_id != run_id}

    # ------------------------------------------------------------ facts from the process table

    def observe(self, table: Mapping[int, Process]) -> None:
        """Learn from the whole table, and forget processes that ended."""
        self.note_losses(table.get)
        members = {one.session for one in table.values()}
        self._sessions = {
            leader: known
            for leader, known in self._sessions.items()
            if leader in members and (leader not in table or table[leader].start == known[0])
        }
        for one in table.values():
            self._classify(one, table.get, None)
        alive = {(one.pid, one.start) for one in table.values() if not one.zombie}
        self._inside = {key: known for key, known in self._inside.items() if key in alive}
        self._outside &= alive
        self._reapers = {pid: start for pid, start in self._reapers.items() if not start or (pid, start) in alive}
        self._loose = not all(self._is_held(table[key[0]], table) for key in self._inside)
        self._lost_since = None

    def note_losses(self, read: ReadProcess) -> None:
        """Find out which holders died."""
        for key in list(self._holders):
            holder = read(key[0])
            if holder is None or holder.start != key[1] or holder.zombie:
                self._inside[key] = Judgement(Membership.INSIDE, self._holders.pop(key))
                self._lost_since = key[1] if self._lost_since is None else min(self._lost_since, key[1])

    def known(self, pid: int, read: ReadProcess) -> Judgement | None:
        """The judgement about a process that was judged before; None where it has to be judged."""
        one = read(pid)
        if one is None or one.zombie:
            return _GONE
        return self._remembered(one)

    def unknown_above(self, pid: int, read: ReadProcess) -> list[Key]:
        """Return the processes whose environments `judge` needs, from this one upwards."""
        found: list[Key] = []
        one = read(pid)
        while one is not None and self._remembered(one) is None:
            found.append((one.pid, one.start))
            one = None if self._is_root(one, read) else read(one.parent)
        return found

    def judge(self, pid: int, read: ReadProcess, markers: Markers) -> Judgement | None:
        """Return whether a process belongs to an agent; None if its parents changed meanwhile: call again."""
        one = read(pid)
        if one is None or one.zombie:
            return _GONE
        self.note_losses(read)
        return self._classify(one, read, markers)

    # ------------------------------------------------------------ inside

    def _classify(self, one: Process, read: ReadProcess, markers: Markers | None) -> Judgement | None:
        """Without `markers` environments are not considered."""
        path: list[Process] = []
        current = one
        while (found := self._remembered(current)) is None:
            path.append(current)
            if markers is not None:
                if (current.pid, current.start) not in markers:
                    return None
                found = self._marked(markers[current.pid, current.start])
                if found is not None:
                    break
            if self._is_root(current, read):
                found = self._root(current)
                break
            parent = read(current.parent)
            if parent is None or (self._ordered and parent.start > current.start):
                return None
            if parent.pid == self._own_pid and markers is None:
                return None  # the daemon's own child processes are recognised only by their environment
            current = parent
        for each in path:
            self._note(each, found)
        return found

    def _note(self, one: Process, found: Judgement) -> None:
        key = (one.pid, one.start)
        if found.is_outside:
            self._outside.add(key)
        else:
            self._inside[key] = found
            if one.session == one.pid:
                self._sessions[one.session] = (one.start, found)

    def _remembered(self, one: Process) -> Judgement | None:
        key = (one.pid, one.start)
        if key in self._outside:
            return _OUTSIDE
        if key in self._holders:
            return Judgement(Membership.INSIDE, self._holders[key])
        if key in self._inside:
            return self._inside[key]
        led = self._sessions.get(one.session) if one.session != one.pid else None
        return led[1] if led is not None else None

    def _marked(self, values: Collection[str]) -> Judgement | None:
        for value in values:
            if value in self._markers:
                return Judgement(Membership.INSIDE, self._markers[value])
        return None

    def _is_root(self, one: Process, read: ReadProcess) -> bool:
        """Return whether its parent is unknown: it has none, or a reaper."""
        if one.parent <= 0:
            return True
        start = self._reapers.get(one.parent)
        if not start:
            return start is not None
        reaper = read(one.parent)
        return reaper is not None and reaper.start == start

    def _root(self, one: Process) -> Judgement:
        if one.parent <= 0 or not self._ordered:
            return _OUTSIDE
        if self._loose or (self._lost_since is not None and one.start >= self._lost_since):
            return Judgement(Membership.SUSPECT)
        return _OUTSIDE

    def _is_held(self, one: Process, table: Mapping[int, Process]) -> bool:
        current: Process | None = one
        while current is not None:
            if (current.pid, current.start) in self._holders:
                return True
            current = table.get(current.parent)
        return False


def scope_run(group: str) -> str:
    """Return the run whose systemd scope a control group is; empty if it is none."""
    _, found, rest = group.partition(SCOPE_PREFIX)
    return rest.partition(".scope")[0] if found else ""
