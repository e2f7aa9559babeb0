"""The holder program: started by path with `python -I -S`, reads its job on stdin, then runs on its own.

It prints `ready PID`, or `failed` and the reason, and detaches from its parent.
"""

# pathlib and contextlib would make the holder slower to start and larger.
# ruff: noqa: PTH100, PTH120, SIM105

import os
import sys

# Appended, so that no package installed next to betcode can replace the standard library.
sys.path.append(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))

import fcntl
import json
import signal
import time

from betcode.holder.agent import Agent
from betcode.holder.clients import listen
from betcode.holder.event_loop import Holder
from betcode.holder.journal import Journal
from betcode.holder.platform import become_subreaper, start_time
from betcode.util.state_files import open_file

_LOCK_WITHIN_S = 1.0


def main() -> None:
    """Hold the agent described on stdin until it has ended."""
    try:
        spec = json.loads(sys.stdin.buffer.read())
    except ValueError:
        return  # our parent died before it sent the command
    if os.fork():
        os._exit(0)
    os.setsid()
    signal.pthread_sigmask(signal.SIG_SETMASK, [])  # signals that the parent's thread had blocked
    umask = os.umask(0o077)
    try:
        os.chdir(spec["run_dir"])
        _lock()
        holder = _begin(spec, umask)
    except OSError as error:
        _tell(f"failed {error}")
        sys.exit(1)
    _tell(f"ready {os.getpid()}")
    holder.run()
    os._exit(0)  # without the interpreter's own end, which would close connections while the lock is still held


def _begin(spec: dict[str, object], umask: int) -> Holder:
    argv, env, cwd, marker = spec["argv"], spec["env"], spec["cwd"], spec["marker"]
    assert isinstance(argv, list)
    assert isinstance(env, dict)
    assert isinstance(cwd, str)
    become_subreaper()
    journal = Journal(".")
    listener = listen()
    agent = Agent(argv, env, cwd, umask)
    start = {
        "pid": agent.pid,
        "start_time": agent.start_time,
        "holder": os.getpid(),
        "argv0": argv[0],
        "marker": marker,
    }
    journal.record(b"start", json.dumps({**start, "cwd": cwd}).encode())
    holder = Holder(journal, listener, agent)
    opening = spec.get("opening")
    if isinstance(opening, str) and opening:
        holder.open_with(opening.encode())
    return holder


def _lock() -> None:
    """Hold the run's lock for life; it is released with the process, which shows others whether it is alive."""
    lock = open_file("lock", os.O_RDWR | os.O_CREAT)
    until = time.monotonic() + _LOCK_WITHIN_S
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except BlockingIOError:  # another process may only be checking whether it is held
            if time.monotonic() > until:
                raise OSError("another holder has this run") from None
            time.sleep(0.01)
    if os.fstat(lock).st_size:
        raise OSError("this run is over")  # held before, or found without a holder and abandoned
    os.write(lock, b"%d %d\n" % (os.getpid(), start_time(os.getpid())))


def _tell(text: str) -> None:
    """Send one line to the parent, if it still reads, and close its pipes."""
    try:
        os.write(1, text.encode("utf-8", "replace") + b"\n")
    except OSError:
        pass
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    os.close(null)


if __name__ == "__main__":
    main()
