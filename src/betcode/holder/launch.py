"""Starts holders, checks whether they are alive, and ends what a dead holder left running. For the daemon."""

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
_OPEN_FILES = resource.getrlimit(resource.RLIMIT_NOFILE)  # what whoever started us meant for programs like agents


class HolderDidNotStart(Exception):
    """The holder could not take up its work; nothing of it is left running."""


class HolderKilled(HolderDidNotStart):
    """Somebody killed it before it could say that it is ready; its agent may have begun."""


@dataclass(frozen=True, slots=True)
class HolderSpec:
    """What a holder is to hold. The environment is handed over a pipe and stands in no file and on no command line."""

    run_dir: Path
    argv: Sequence[str]
    env: Mapping[str, str]
    cwd: Path
    marker: str
    opening: bytes = b""  # input number 1, there before the agent does anything; empty: none
    umask: int = -1  # of the agent; -1: that of whoever starts the holder


def allow_many_open_files() -> None:
    """Have room for many clients; agents keep the limit that this process was started with."""
    if sys.platform == "linux":
        soft, hard = _OPEN_FILES
        wanted = _MOST_OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, _MOST_OPEN_FILES)
        if soft != resource.RLIM_INFINITY and soft < wanted:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def start_holder(spec: HolderSpec) -> int:
    """Start a holder that outlives us and return its pid; its socket answers when this returns.

    It blocks for some 50 ms. That the agent itself cannot be started is no failure here: the journal's `exit` says so.

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
                raise  # it came as far as the holder itself; the scope was not at fault
    return _start(command, spec)


def _scope_command(marker: str) -> list[str]:
    """Under systemd a unit's end takes all its processes along, so a holder gets a scope of its own."""
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
            with suppress(ProcessLookupError):  # before it is told what to do, so that everything below it has it
                resource.prlimit(starter.pid, resource.RLIMIT_NOFILE, _OPEN_FILES)
        with suppress(BrokenPipeError):  # it ended early; what it said tells why
            starter.stdin.write(json.dumps(message).encode())
            starter.stdin.close()
        answer = _read_line(starter.stdout.fileno())
        if answer is None:
            starter.kill()
            raise HolderDidNotStart(f"the holder said nothing within {_START_WITHIN_S:.0f} s")
    said = spec.run_dir / "holder.log"
    if not answer and not said.stat().st_size:  # one that fails says why
        raise HolderKilled("the holder was killed before it was ready")
    word, _, rest = answer.decode("utf-8", "replace").strip().partition(" ")
    if word == "ready":
        return int(rest)
    raise HolderDidNotStart(rest or f"the holder broke off; see {said}")


def _read_line(fd: int) -> bytes | None:
    """What was said before the pipe was closed; None where neither a line nor an end has come in time."""
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
    """Whether the run's holder lives: it keeps a lock for life, and the kernel lets go of it whatever happens.

    Raises: UnusableEntry when the lock cannot be examined, so that nobody can tell; OSError for a shortage.
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
    """See to it that no holder takes up this run any more; False where one lives.

    A holder that was started by a daemon that died at that moment may come to its lock long after the next daemon has
    found none, and would then run an agent that nobody knows. A run is held once: whoever finds the lock written in
    before leaves.

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
        with suppress(OSError):  # a killed holder leaves it; an entry of another type stays, and `doctor` names it
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
    """Whether a process may be the holder of a run, which works in its directory.

    The command line is not read where that can be avoided: it is memory of the process, which can hold up a reader.
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
    """The pids of all living holders whose run directories are in `runs_dir`; an entry that is no run has none."""
    return frozenset(pid for name in _run_names(runs_dir) if (pid := holder_pid(runs_dir / name)) is not None)


def is_holder(pid: int) -> bool:
    """Whether a process runs the holder's program."""
    return "betcode/holder/program.py" in command_line(pid)


def runs_inside(runs_dir: Path) -> bool:
    """Whether this process belongs to an agent of the daemon that keeps its runs here.

    A holder above it counts, whatever its lock file says, and so does a marker of one of the runs in an environment.
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
    """The runs in `runs_dir` whose holder lives; an entry that cannot be examined is not one of them."""
    return frozenset(name for name in _run_names(runs_dir) if is_surely_alive(runs_dir / name))


def _run_names(runs_dir: Path) -> list[str]:
    try:
        return names_in(runs_dir)
    except UnusableEntry:
        return []


def is_surely_alive(run_dir: Path) -> bool:
    """Whether a holder lives there and its lock shows it."""
    try:
        return is_alive(run_dir)
    except UnusableEntry:
        return False


def end_leftovers(
    marker: str, agent_pid: int, start_time: int, *, grace_s: float = 2.0, seen: Sequence[Process] = ()
) -> int:
    """End everything left of a run whose holder is gone; how many processes that were.

    These are the processes whose environment names the run, the agent, those `seen` below the holder while it lived,
    and everything below them.

    The agent was told to end when its holder died; it and its tools get `grace_s`, then they are stopped and killed
    until nobody is left. Blocks for at most `grace_s` and ten seconds. Pass pid 0 when the agent's is not known.
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
