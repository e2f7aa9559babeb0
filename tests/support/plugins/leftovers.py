"""Processes that tests leave running: holders outlive their daemons by design, so somebody must end them."""

import os
import signal
import time
from pathlib import Path

from support.patience import PATIENCE_S

PROC = Path("/proc")


def leftovers(below: Path) -> list[int]:
    """The pids of the processes that work below a directory or have it in their environment, and its daemons."""
    wanted = os.fsencode(below)
    return [pid for pid in sorted(set(living()) - own_line()) if belongs(pid, wanted)]


def end_leftovers(below: Path) -> int:
    """End them all, and what they start meanwhile; how many there were."""
    ended: set[int] = set()
    until = time.monotonic() + PATIENCE_S
    while found := leftovers(below):
        assert time.monotonic() < until, f"these do not end: {found}"
        for pid in found:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        ended.update(found)
    return len(ended)


def living() -> list[int]:
    return [int(entry.name) for entry in PROC.glob("[0-9]*")]


def own_line() -> set[int]:
    """This process and those above it."""
    line, pid = set(), os.getpid()
    while pid > 1:
        line.add(pid)
        pid = int((PROC / str(pid) / "stat").read_bytes().rpartition(b")")[2].split()[1])
    return line


def belongs(pid: int, wanted: bytes) -> bool:
    home = PROC / str(pid)
    try:
        if (home / "stat").read_bytes().rpartition(b")")[2].split()[0] == b"Z":
            return False
        if os.fsencode((home / "cwd").readlink()).startswith(wanted + b"/"):
            return True
        if wanted + b"/" in (home / "environ").read_bytes():
            return True
        words = (home / "cmdline").read_bytes()  # a forked daemon shows the environment of the process that forked it
        return b"\0betcode.daemon\0" in words and wanted + b"/" in words
    except OSError:
        return False  # gone meanwhile, or not ours to look at
