"""A process whose first thread has ended is shown as a zombie although its other threads run."""

import os
import platform
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

import pytest

from betcode.engine import AgentProcesses
from betcode.holder.platform import RUN_MARKER, environment_markers, has_children, process
from betcode.holder.process_tree import Membership

pytestmark = [pytest.mark.anyio, pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")]

SYS_EXIT = {"x86_64": 60}.get(platform.machine(), 93)  # ends one thread

# A subreaper that prints the pid of its child when the child's first thread has ended. The other thread of the child
# forks for each line that it reads, and prints the pid of the new process, which waits.
HOLDER = f"""
import ctypes, os, signal, sys, threading, time
libc = ctypes.CDLL(None)
libc.prctl(36, 1, 0, 0, 0)
child = os.fork()
if child:
    while b") Z " not in open(f"/proc/{{child}}/stat", "rb").read():
        time.sleep(0.001)
    print(child, flush=True)
    signal.pause()
def serve():
    for _ in sys.stdin:
        if (pid := os.fork()) == 0:
            os.setsid()
            signal.pause()
        print(pid, flush=True)
    os._exit(0)
threading.Thread(target=serve).start()
libc.syscall({SYS_EXIT}, 0)
"""


@dataclass(frozen=True, slots=True)
class Family:
    """A holder, its child without a first thread, and what that child forked."""

    holder: "subprocess.Popen[str]"
    child: int
    forked: list[int]

    def fork(self) -> int:
        assert self.holder.stdin is not None
        assert self.holder.stdout is not None
        self.holder.stdin.write("\n")
        self.holder.stdin.flush()
        self.forked.append(int(self.holder.stdout.readline()))
        return self.forked[-1]


@pytest.fixture
def family() -> Iterator[Family]:
    environment = {**os.environ, RUN_MARKER: "run-of-the-child"}
    argv = [sys.executable, "-c", HOLDER]
    with subprocess.Popen(
        argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment, start_new_session=True
    ) as holder:
        assert holder.stdout is not None
        found = Family(holder, int(holder.stdout.readline()), [])
        try:
            yield found
        finally:
            for pid in (*found.forked, found.child):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            holder.kill()


def test_it_is_alive(family: Family) -> None:
    found = process(family.child)
    assert found is not None
    assert not found.zombie
    assert has_children(family.holder.pid)
    assert environment_markers(family.child) == {"run-of-the-child"}


def test_one_without_any_thread_is_a_zombie() -> None:
    with subprocess.Popen(["true"]) as ended:
        os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)
        found = process(ended.pid)
        assert found is not None
        assert found.zombie


async def test_what_it_forks_after_the_holder_was_killed_belongs_to_the_agent(family: Family) -> None:
    processes = AgentProcesses()
    processes.add(family.holder.pid, "run-1")
    await processes.observe()
    family.holder.kill()
    family.holder.wait()
    await processes.observe()
    await processes.observe()
    assert [one.pid for one in processes.left_of("run-1")] == [family.child]
    assert (await processes.judge(family.fork())).membership in (Membership.INSIDE, Membership.SUSPECT)


async def test_its_holder_is_not_released(family: Family) -> None:
    processes = AgentProcesses()
    processes.add(family.holder.pid, "run-1")
    await processes.observe()
    await processes.release("run-1")
    assert list(processes.tree.holders.values()) == ["run-1"]
