"""Everything that differs by operating system: process ancestry, peer credentials, parent death.

Linux supports all of it. macOS has no parent-death signal and no child subreaper: there, the process that sees that the
holder's lock was released ends the run, and finds its processes by marker and ancestry with `ps`.
"""

# pathlib and contextlib would make the holder slower to start and larger.
# ruff: noqa: PTH106, PTH108, PTH118, PTH120, PTH123, PTH208, PTH211

import ctypes
import os
import signal
import socket
import struct
import sys
import time
from collections.abc import Container
from zlib import crc32

if sys.platform != "linux":
    import subprocess
    import tempfile

RUN_MARKER = "BETCODE_RUN"
HOLDER_MARKER = "BETCODE_HOLDER"  # in the environment of a holder itself, which must not be mistaken for a tool
_LISTINGS = 20  # of the process table; on a machine that starts processes without pause it ends, too
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_SUN_PATH_BYTES = 100  # 108 on Linux, 104 on macOS, less the terminating zero

_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")

# Loaded at import: between fork and exec nothing may be loaded.
_prctl = ctypes.CDLL(None, use_errno=True).prctl if sys.platform == "linux" else None


class Process:
    """One line of the process table. A pid with its start time names a process for good."""

    __slots__ = ("parent", "pid", "session", "start", "zombie")

    def __init__(self, pid: int, parent: int, start: int, zombie: bool, session: int = 0) -> None:
        self.pid = pid
        self.parent = parent
        self.start = start
        self.zombie = zombie
        self.session = session  # the pid of the process that called setsid; 0 where the system does not report it


def become_subreaper() -> bool:
    """Have orphaned descendants become children of this process; False where the system cannot."""
    return _prctl is not None and _prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0


def die_with_parent(parent: int) -> None:
    """Between fork and exec: get SIGTERM when `parent` dies, and end at once if it is dead already."""
    if _prctl is not None:
        _prctl(_PR_SET_PDEATHSIG, int(signal.SIGTERM), 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


def peer_of(connection: socket.socket) -> tuple[int, int] | None:
    """Return pid and user id of the process at the other end; None if the system does not report them."""
    try:
        if sys.platform == "linux":
            pid, uid, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
        else:
            pid = connection.getsockopt(0, 2)  # SOL_LOCAL, LOCAL_PEERPID
            uid = struct.unpack("Ii", connection.getsockopt(0, 1, 8))[
                1
            ]  # LOCAL_PEERCRED: xucred begins with version, uid
    except OSError:
        return None
    return (pid, uid) if pid > 0 else None


def process(pid: int) -> Process | None:
    """Return the system's facts about one process; None if there is none."""
    if sys.platform != "linux":
        return processes().get(pid)
    try:
        with open(f"/proc/{pid}/stat", "rb", buffering=0) as stat:
            # The name in parentheses may contain anything, parentheses too.
            fields = stat.read(4096).rpartition(b") ")[2].split()
    except OSError:
        return None
    if len(fields) < 20:
        return None
    # A process whose first thread has ended is in state Z too, while its other threads run.
    has_ended = fields[0] in (b"Z", b"X", b"x") and int(fields[17]) <= 1
    return Process(pid, int(fields[1]), int(fields[19]), has_ended, int(fields[3]))


def environment_markers(pid: int) -> frozenset[str]:
    """Return the runs that the environment of a process names, as a tool of an agent or as a holder.

    The process can block the reading of its environment: call this in a thread, with a timeout.
    """
    names = (RUN_MARKER, HOLDER_MARKER)
    if sys.platform != "linux":
        return frozenset(run for name in names for run, one in all_marked(name) if one.pid == pid)
    values = _environment(pid).split(b"\0")
    beginnings = tuple(os.fsencode(f"{name}=") for name in names)
    return frozenset(os.fsdecode(value.partition(b"=")[2]) for value in values if value.startswith(beginnings))


def _environment(pid: int) -> bytes:
    """As a process was started with it; empty where it cannot be read."""
    path = f"/proc/{pid}"
    try:
        # A thread that has ended has no environment: the first one may have.
        for task in (path, *(f"{path}/task/{task}" for task in os.listdir(f"{path}/task") if task != str(pid))):
            try:
                with open(f"{task}/environ", "rb", buffering=0) as environ:
                    if found := environ.read(1024 * 1024):
                        return found
            except (ProcessLookupError, FileNotFoundError):
                continue
    except OSError:
        return b""
    return b""


def command_line(pid: int) -> str:
    """Return the arguments of a process; empty if there is none."""
    if sys.platform != "linux":
        return " ".join(_ps("-ww", "-o", "command=", "-p", str(pid)))
    try:
        with open(f"/proc/{pid}/cmdline", "rb", buffering=0) as words:
            return os.fsdecode(words.read(64 * 1024).replace(b"\0", b" "))
    except OSError:
        return ""


def control_group(pid: int) -> str:
    """Return the control group of a process; empty if the system has none or does not report it."""
    try:
        with open(f"/proc/{pid}/cgroup", "rb", buffering=0) as groups:
            return os.fsdecode(groups.read(4096))
    except OSError:
        return ""


def start_time(pid: int) -> int:
    """Return when a process was started, in the system's own unit; 0 if there is none."""
    found = process(pid)
    return found.start if found else 0


def start_time_now() -> int:
    """Return the `start_time` of a process started now; 0 if start times have no order."""
    if sys.platform == "linux":
        return int(time.clock_gettime(time.CLOCK_BOOTTIME) * os.sysconf("SC_CLK_TCK"))
    return 0


def processes() -> dict[int, Process]:
    """The whole process table."""
    if sys.platform == "linux":
        return _listed_processes()
    table = {}
    for line in _ps("-axo", "pid=,ppid=,state=,lstart="):
        pid, parent, state, started = line.split(None, 3)
        # Only compared for equality, so a checksum of the date will do.
        table[int(pid)] = Process(int(pid), int(parent), crc32(started.encode()), state.startswith("Z"))
    return table


def _listed_processes() -> dict[int, Process]:
    """Read the list again until it has no new process.

    The list is not read at one moment: a process that forks and exits meanwhile would be missing, and so would its
    child. To hide this way, a process has to win every round.
    """
    table: dict[int, Process] = {}
    listed: set[int] = set()
    for _ in range(_LISTINGS):
        new = {int(name) for name in os.listdir("/proc") if name.isdigit()} - listed
        if not new:
            break
        listed |= new
        table |= {pid: one for pid in sorted(new, reverse=True) if (one := process(pid)) is not None}
    return table


def has_children(pid: int) -> bool:
    """Return whether a process has living children; True if the system does not report it."""
    path = f"/proc/{pid}/task"
    try:
        found: list[bytes] = []
        for task in os.listdir(path):
            with open(f"{path}/{task}/children", "rb", buffering=0) as children:
                found += children.read(65536).split()
    except OSError:
        return process(pid) is not None and any(one.parent == pid and not one.zombie for one in processes().values())
    return any((one := process(int(child))) is not None and not one.zombie for child in found)


def descendants(*ancestors: int) -> list[Process]:
    """Return every living process below these; none of them may be below another."""
    table = processes()
    children: dict[int, list[Process]] = {}
    for one in table.values():
        children.setdefault(one.parent, []).append(one)
    found: list[Process] = []
    wave = [child for ancestor in ancestors for child in children.get(ancestor, ())]
    while wave:
        found += wave
        wave = [child for one in wave for child in children.get(one.pid, ())]
    return [one for one in found if not one.zombie]


def descends_from(pid: int, above: Container[int]) -> bool:
    """Return whether `pid` is one of these processes or a descendant; True also for one that has ended, because it is
    unknown.
    """
    for _ in range(5):  # a process that ends during the check moves its children: check again
        current = pid
        while current > 0:
            if current in above:
                return True
            found = process(current)
            if found is None:
                break
            current = found.parent
        else:
            return False
    return True


def resident_bytes(pid: int) -> int:
    """Return how much memory a process has resident; 0 if there is none."""
    if sys.platform != "linux":
        lines = _ps("-o", "rss=", "-p", str(pid))
        return int(lines[0]) * 1024 if lines else 0
    try:
        with open(f"/proc/{pid}/statm", "rb", buffering=0) as statm:
            return int(statm.read(256).split()[1]) * _PAGE_BYTES
    except (OSError, IndexError):
        return 0


def marked(marker: str, name: str = RUN_MARKER) -> list[Process]:
    """Return every living process whose environment names this run; those of other users cannot be read and are
    omitted.
    """
    return [one for run, one in all_marked(name) if run == marker]


def all_marked(name: str = RUN_MARKER) -> list[tuple[str, Process]]:
    """Every living process that belongs to a run, with the run that its environment names."""
    beginning = f"{name}="
    if sys.platform != "linux":
        table = processes()
        lines = [line.split(None, 1) for line in _ps("-axwwE", "-o", "pid=,command=")]
        return [
            (word.removeprefix(beginning), table[int(pid)])
            for pid, text in lines
            for word in text.split()
            if word.startswith(beginning) and int(pid) in table
        ]
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            values = _environment(int(entry)).split(b"\0")
            named = [os.fsdecode(value) for value in values if value.startswith(os.fsencode(beginning))]
            if named and (one := process(int(entry))) and not one.zombie:
                found += [(value.removeprefix(beginning), one) for value in named]
    return found


def send_signal(target: Process, number: signal.Signals) -> None:
    """Signal exactly this process, never another that got its pid meanwhile; an ended process is no error."""
    try:
        if sys.platform != "linux":
            os.kill(target.pid, number)
            return
        handle = os.pidfd_open(target.pid)
        try:
            if start_time(target.pid) == target.start:
                signal.pidfd_send_signal(handle, number)
        finally:
            os.close(handle)
    except (ProcessLookupError, PermissionError):
        pass


class ShortName:
    """A name for `directory/socket` that fits a socket address however deep the directory is; closes after use."""

    def __init__(self, directory: str) -> None:
        self._handle = -1
        self._link = ""
        self.path = os.path.join(directory, "socket")
        if len(os.fsencode(self.path)) <= _SUN_PATH_BYTES:
            return
        if sys.platform == "linux":
            self._handle = os.open(directory, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
            self.path = f"/proc/self/fd/{self._handle}/socket"
        else:
            self._link = os.path.join(tempfile.mkdtemp(prefix="betcode-"), "d")
            os.symlink(directory, self._link)
            self.path = os.path.join(self._link, "socket")

    def close(self) -> None:
        """Close the handle of the process."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1
        if self._link:
            os.unlink(self._link)
            os.rmdir(os.path.dirname(self._link))
            self._link = ""


def _ps(*arguments: str) -> list[str]:
    if sys.platform != "linux":
        found = subprocess.run(["ps", *arguments], capture_output=True, text=True, check=False)
        return [line for line in found.stdout.splitlines() if line.strip()]
    return []
