"""Start holders, check whether they are alive, and end what a dead holder left running. For the daemon."""

import fcntl
import json
import os
import resource
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from betcode.holder.platform import (
    HOLDER_MARKER,
    RUN_MARKER,
    Process,
    command_line,
    descendants,
    descends_from,
    environment_markers,
    marked,
    process,
    send_signal,
)
from betcode.holder.terminate import stop_and_kill
from betcode.util.state_files import UnusableEntry, names_in, open_file, read_file

__all__ = [
    "HolderDidNotStart",
    "HolderKilled",
    "HolderSpec",
    "allow_many_open_files",
    "bar",
    "descends_from",
    "end_leftovers",
    "held_runs",
    "holder_pid",
    "holder_pids",
    "is_alive",
    "is_holder",
    "is_surely_alive",
    "parse_lock",
    "runs_inside",
    "start_holder",
]

_PROGRAM = Path(__file__).with_name("program.py")
_START_WITHIN_S = 15.0
_GIVE_UP_S = 10.0
_LOOK_EVERY_S = 0.02
_MOST_OPEN_FILES = 65_536
LOCK_LIMIT_BYTES = 256
_PID_DIGITS = 9
_OPEN_FILES = resource.getrlimit(
    resource.RLIMIT_NOFILE
)  # settings for child processes such as agents, from our own parent


class HolderDidNotStart(Exception):
    """The holder could not start; none of its processes is running."""


class HolderKilled(HolderDidNotStart):
    """The holder was killed before it reported ready; its agent may have started."""


@dataclass(frozen=True, slots=True)
class HolderSpec:
    """The parameters of a holder. The environment is passed through a pipe, never in a file or on a command line."""

    run_dir: Path
    argv: Sequence[str]
    env: Mapping[str, str]
    cwd: Path
    marker: str
    opening: bytes = b""  # input number 1, there before the agent does anything; empty: none
    umask: int = -1  # of the agent; -1: inherited from the process that starts the holder


def allow_many_open_files() -> None:
    """Raise the limit of open files for many clients; agents keep the original limit of this process."""
    if sys.platform == "linux":
        soft, hard = _OPEN_FILES
        wanted = _MOST_OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, _MOST_OPEN_FILES)
        if soft != resource.RLIM_INFINITY and soft < wanted:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def start_holder(spec: HolderSpec) -> int:
    """Start a holder that outlives us and return its pid; its socket answers when this returns.

    It blocks for some 50 ms. If only the agent cannot be started, this succeeds, and the journal's `exit` has the
    error.

    Raises: HolderDidNotStart, HolderKilled.
    """
    try:
        spec.run_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        spec.run_dir.chmod(0o700)
    except OSError as error:
        raise HolderDidNotStart(f"the run's directory cannot be made: {error}") from error
    command = [sys.executable, "-I", "-S", "-X", "utf8", str(_PROGRAM)]
    scope = _scope_command(spec.marker)
    if scope:
        try:
            return _start([*scope, *command], spec)
        except HolderDidNotStart:
            if os.path.lexists(spec.run_dir / "lock"):
                raise  # the holder itself was reached; the scope was not the cause
    return _start(command, spec)


def _scope_command(marker: str) -> list[str]:
    """Return a command that gives the holder its own scope, because systemd ends all processes of a stopped unit."""
    if "INVOCATION_ID" not in os.environ or not (systemd_run := shutil.which("systemd-run")):
        return []
    return [systemd_run, "--user", "--scope", "--quiet", "--collect", f"--unit=betcode-run-{marker}", "--"]


def _start(command: list[str], spec: HolderSpec) -> int:
    message = {
        "run_dir": str(spec.run_dir.absolute()),
        "argv": list(spec.argv),
        "env": {**spec.env, RUN_MARKER: spec.marker},
        "cwd": str(spec.cwd.absolute()),
        "marker": spec.marker,
        "opening": spec.opening.decode(),
    }
    # Not the daemon's whole environment: it may be an agent's, with another run's marker in it.
    passed = ("PATH", "LANG", "LC_ALL", "TZ", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS")
    env = {name: os.environ[name] for name in passed if name in os.environ}
    env[HOLDER_MARKER] = spec.marker  # by which the daemon recognises it in the process table
    try:
        log = open_file(spec.run_dir / "holder.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    except OSError as error:
        raise HolderDidNotStart(f"the holder's log cannot be opened: {error}") from error
    try:
        starter = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            env=env,
            cwd="/",
            start_new_session=True,
            umask=spec.umask,
        )
    except OSError as error:
        raise HolderDidNotStart(f"the holder cannot be started: {error}") from error
    finally:
        os.close(log)
    with starter:
        assert starter.stdin is not None
        assert starter.stdout is not None
        if sys.platform == "linux":
            with suppress(
                ProcessLookupError
            ):  # before it receives its commands, so that all its descendants inherit it
                resource.prlimit(starter.pid, resource.RLIMIT_NOFILE, _OPEN_FILES)
        with suppress(BrokenPipeError):  # it exited early; its output has the reason
            starter.stdin.write(json.dumps(message).encode())
            starter.stdin.close()
        answer = _read_line(starter.stdout.fileno())
        if answer is None:
            starter.kill()
            raise HolderDidNotStart(f"the holder did not answer within {_START_WITHIN_S:.0f} s")
    said = spec.run_dir / "holder.log"
    if not answer and not said.stat().st_size:  # one that fails sends the reason
        raise HolderKilled("the holder was killed before it was ready")
    word, _, rest = answer.decode("utf-8", "replace").strip().partition(" ")
    if word == "ready":
        return int(rest)
    raise HolderDidNotStart(rest or f"the holder exited early; see {said}")


def _read_line(fd: int) -> bytes | None:
    """Return the text sent before the pipe was closed; None if neither a line nor the end arrived in time."""
    line = b""
    until = time.monotonic() + _START_WITHIN_S
    readable = select.poll()  # not select(), which takes no descriptor past 1023
    readable.register(fd, select.POLLIN)
    while not line.endswith(b"\n"):
        if not readable.poll(max(0.0, until - time.monotonic()) * 1000):
            return None
        piece = os.read(fd, 4096)
        if not piece:
            return line
        line += piece
    return line


def is_alive(run_dir: Path) -> bool:
    """Return whether the run's holder is alive: it holds a lock for life, and the kernel always releases it.

    Raises: UnusableEntry when the lock cannot be examined, so that the answer is unknown; OSError for a shortage.
    """
    try:
        lock = open_file(run_dir / "lock")
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError as error:
        raise UnusableEntry(f"`lock` cannot be examined: {error.strerror}") from error
    finally:
        os.close(lock)
    return False


def bar(run_dir: Path) -> bool:
    """Ensure that no holder can start for this run; False if one is alive.

    A holder that was started by a daemon that died at that moment may take its lock long after the next daemon has
    found none, and would then run an agent without a daemon. A run is held only once: a holder that finds the lock file
    already written exits.

    Raises: UnusableEntry when the lock cannot be examined; OSError for a shortage or a full disk.
    """
    try:
        lock = open_file(run_dir / "lock", os.O_RDWR | os.O_CREAT)
    except FileNotFoundError:
        return True  # without its directory no holder begins
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(lock).st_size == 0:
            os.write(lock, b"barred\n")
        with suppress(OSError):  # a killed holder leaves it; an entry of another type remains, and `doctor` names it
            (run_dir / "socket").unlink(missing_ok=True)
    except BlockingIOError:
        return False
    finally:
        os.close(lock)
    return True


def holder_pid(run_dir: Path) -> int | None:
    """The pid of the run's living holder; None where none lives, or where that cannot be found out.

    An agent can write into the lock file: a process that it names and that is no holder must never get a signal.
    """
    try:
        if not is_alive(run_dir):
            return None
        pid = parse_lock(read_file(run_dir / "lock", LOCK_LIMIT_BYTES))
    except OSError:
        return None
    return pid if pid is not None and _is_holder_of(pid, run_dir) else None


def _is_holder_of(pid: int, run_dir: Path) -> bool:
    """Return whether a process may be the holder of a run, whose directory is its working directory.

    The command line is read only if necessary: it is memory of the process, and reading it can block.
    """
    if sys.platform != "linux":
        return is_holder(pid)
    try:
        return Path(f"/proc/{pid}/cwd").samefile(run_dir)
    except OSError:
        return False


def parse_lock(text: bytes) -> int | None:
    """The pid that a holder wrote into its lock; None: it has not yet, or these bytes name no process."""
    words = text.split()
    if not words or not words[0].isdigit() or len(words[0]) > _PID_DIGITS:
        return None
    return int(words[0]) or None


def holder_pids(runs_dir: Path) -> frozenset[int]:
    """Return the pids of all live holders whose run directories are in `runs_dir`; an entry that is no run has none."""
    return frozenset(pid for name in _run_names(runs_dir) if (pid := holder_pid(runs_dir / name)) is not None)


def is_holder(pid: int) -> bool:
    """Return whether a process runs the holder's program."""
    return "betcode/holder/program.py" in command_line(pid)


def runs_inside(runs_dir: Path) -> bool:
    """Return whether this process belongs to an agent of the daemon that stores its runs here.

    A holder among its ancestors suffices, whatever its lock file contains, and so does a marker of one of the runs in
    an environment.
    """
    holders = holder_pids(runs_dir)
    current = os.getpid()
    while current > 0:
        if current in holders or any((runs_dir / run_id).is_dir() for run_id in environment_markers(current) if run_id):
            return True
        found = process(current)
        current = 0 if found is None else found.parent
    return False


def held_runs(runs_dir: Path) -> frozenset[str]:
    """Return the runs in `runs_dir` whose holder is alive; an entry that cannot be examined is not included."""
    return frozenset(name for name in _run_names(runs_dir) if is_surely_alive(runs_dir / name))


def _run_names(runs_dir: Path) -> list[str]:
    try:
        return names_in(runs_dir)
    except UnusableEntry:
        return []


def is_surely_alive(run_dir: Path) -> bool:
    """Return whether a holder is alive there and its lock proves it."""
    try:
        return is_alive(run_dir)
    except UnusableEntry:
        return False


def end_leftovers(
    marker: str, agent_pid: int, start_time: int, *, grace_s: float = 2.0, seen: Sequence[Process] = ()
) -> int:
    """End all remaining processes of a run whose holder has died; return their number.

    These are the processes whose environment names the run, the agent, those `seen` below the holder while it lived,
    and all their descendants.

    The agent got a signal when its holder died; it and its tools get `grace_s`, then they are stopped and killed until
    none is alive. Blocks for at most `grace_s` and ten seconds. Pass pid 0 if the agent's is unknown.
    """
    ended: set[int] = set()

    def left() -> list[Process]:
        found = {one.pid: one for one in marked(marker)}
        agent = process(agent_pid) if agent_pid > 0 else None
        if agent is not None and agent.start == start_time and not agent.zombie:
            found[agent.pid] = agent
        for one in seen:
            now = process(one.pid)
            if now is not None and now.start == one.start and not now.zombie:
                found[now.pid] = now
        for one in list(found.values()):
            found.update({child.pid: child for child in descendants(one.pid)})
        found.pop(os.getpid(), None)
        ended.update(found)
        return list(found.values())

    for one in left():
        send_signal(one, signal.SIGTERM)
    gentle_until = time.monotonic() + grace_s
    while left() and time.monotonic() < gentle_until:
        time.sleep(_LOOK_EVERY_S)
    give_up_at = time.monotonic() + _GIVE_UP_S
    while stop_and_kill(left) and time.monotonic() < give_up_at:
        time.sleep(_LOOK_EVERY_S)
    return len(ended)
