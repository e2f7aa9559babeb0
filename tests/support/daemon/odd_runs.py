"""Odd contents of the directory of runs, by name: what a matrix test puts into a daemon's state directory."""

import fcntl
import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from betcode.holder.journal import encode, segment_name
from support.daemon.process import Daemon

FIRST = segment_name(0)
DEEP = b"[" * 200_000 + b"]" * 200_000
GREETING = {
    "protocol": 1,
    "holder_pid": 1,
    "agent_pid": 1,
    "agent_start": 1,
    "last_input": 0,
    "last_written": 0,
    "journal_end": 0,
    "exit": None,
    "blocked": None,
}
_LISTENER = """
import fcntl, os, socket, sys
os.chdir(sys.argv[1])
lock = os.open("lock", os.O_RDWR | os.O_CREAT)
fcntl.flock(lock, fcntl.LOCK_EX)
os.ftruncate(lock, 0)
os.pwrite(lock, b"%d 1\\n" % os.getpid(), 0)
server = socket.socket(socket.AF_UNIX)
server.bind("socket")
server.listen()
print("ready", flush=True)
with open(sys.argv[2], "rb") as file:
    answer = file.read()
endless = not answer.endswith(b"\\n")
while True:
    connection, _ = server.accept()
    try:
        connection.sendall(answer)
        while endless:
            connection.sendall(answer)
        connection.recv(1)
    except OSError:
        pass
"""


class UnprivilegedDaemon(Daemon):
    """Bound by permissions even where the tests run as root, who may otherwise open everything."""

    @property
    def argv(self) -> list[str]:
        bound = ["setpriv", "--bounding-set=-dac_override,-dac_read_search,-fowner", "--"] if os.geteuid() == 0 else []
        return [*bound, *super().argv]


@dataclass(frozen=True, slots=True)
class OddRun:
    """How the run of one session is made odd. `apply` gets its directory and a stack for what must be cleaned up."""

    apply: Callable[[Path, ExitStack], object]
    reported: str = ""  # what `daemon status` and `doctor` say; empty: only the session itself says something
    holder_dead: bool = False  # the holder is killed before
    heals_by_itself: bool = False  # when a daemon connects, its holder binds the socket again


def emptied(path: Path) -> Path:
    """The name, free for something else."""
    if path.is_dir() and not path.is_symlink():
        path.rename(path.with_name(path.name + ".before"))
    else:
        path.unlink(missing_ok=True)
    return path


def put(name: str, make: Callable[[Path], object]) -> Callable[[Path, ExitStack], object]:
    return lambda run, _: make(emptied(run / name))


def whole(make: Callable[[Path], object]) -> Callable[[Path, ExitStack], object]:
    """Something else in place of the run directory itself; what was there is kept outside."""

    def replace(run: Path, _: ExitStack) -> None:
        run.rename(run.parent.parent / f"moved-{run.name}")
        make(run)

    return replace


def self_link(path: Path) -> None:
    path.symlink_to(path.name)


def sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1 << 40)


@contextmanager
def reachable_name(path: Path) -> Iterator[str]:
    """A name that fits a socket address, however long the path is."""
    directory = os.open(path.parent, os.O_PATH)
    try:
        yield f"/proc/self/fd/{directory}/{path.name}"
    finally:
        os.close(directory)


def bound_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server, reachable_name(path) as name:
        server.bind(name)


def listener(answer: bytes) -> Callable[[Path, ExitStack], object]:
    """A program that holds the lock and answers at the socket as no holder does."""

    def start(run: Path, stack: ExitStack) -> None:
        emptied(run / "socket")
        emptied(run / "lock")
        spoken = run / "answer"
        spoken.write_bytes(answer)
        argv = [sys.executable, "-c", _LISTENER, str(run), str(spoken)]
        process = stack.enter_context(subprocess.Popen(argv, stdout=subprocess.PIPE))
        stack.callback(process.kill)
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"

    return start


def ends_with(record: bytes) -> Callable[[Path, ExitStack], object]:
    """The journal of a dead holder, with this as the exit record."""

    def write(run: Path, _: ExitStack) -> None:
        last = max(run.glob("journal-*"))
        with last.open("ab") as segment:
            segment.write(encode(b"exit", 1, 1, record))

    return write


def cut(run: Path, _: ExitStack) -> None:
    os.truncate(run / FIRST, (run / FIRST).stat().st_size // 2)


def held_by_another(run: Path, stack: ExitStack) -> None:
    """A lock that somebody else holds, without a socket."""
    lock = os.open(run / "lock", os.O_RDWR)
    stack.callback(os.close, lock)
    fcntl.flock(lock, fcntl.LOCK_EX)


def wrong(**fields: object) -> bytes:
    return json.dumps(GREETING | fields).encode() + b"\n"


ODD_RUNS: dict[str, OddRun] = {
    "a file in place of the directory": OddRun(whole(Path.touch), "it is a regular file, not a directory"),
    "a FIFO in place of the directory": OddRun(whole(os.mkfifo), "it is a FIFO, not a directory"),
    "a link to itself in place of the directory": OddRun(whole(self_link), "it is a symbolic link, not a directory"),
    "no directory": OddRun(whole(lambda _: None)),
    "an empty directory": OddRun(whole(Path.mkdir)),
    "lock is a directory": OddRun(put("lock", Path.mkdir), "`lock` is a directory, not a regular file"),
    "lock is a link to itself": OddRun(put("lock", self_link), "`lock` is a symbolic link, not a regular file"),
    "lock is a FIFO": OddRun(put("lock", os.mkfifo), "`lock` is a FIFO, not a regular file"),
    "lock is a socket": OddRun(put("lock", bound_socket), "`lock` is a socket, not a regular file"),
    "lock has a pid of 25 digits": OddRun(
        put("lock", lambda path: path.write_text("9" * 25 + " 1\n")), "`lock` does not hold the pid of a holder"
    ),
    "lock is a terabyte": OddRun(put("lock", sparse), "`lock` is longer than 256 bytes"),
    "lock holds the pid of another process": OddRun(put("lock", lambda path: path.write_text("1 1\n"))),
    "lock is held by another program": OddRun(held_by_another, holder_dead=True),
    "socket is a directory": OddRun(
        put("socket", Path.mkdir), "`socket` is a directory, not a socket", heals_by_itself=True
    ),
    "socket is a FIFO": OddRun(put("socket", os.mkfifo), "`socket` is a FIFO, not a socket", heals_by_itself=True),
    "socket is a link to itself": OddRun(
        put("socket", self_link), "`socket` is a symbolic link, not a socket", heals_by_itself=True
    ),
    "holder answers no JSON": OddRun(listener(b"hello\n"), "its greeting is not JSON", holder_dead=True),
    "holder answers a list": OddRun(listener(b"[]\n"), "its greeting is not a JSON object", holder_dead=True),
    "holder answers wrong types": OddRun(
        listener(wrong(journal_end="x")), "its greeting has no usable `journal_end`", holder_dead=True
    ),
    "holder answers 200,000 levels": OddRun(listener(DEEP + b"\n"), "its greeting is not JSON", holder_dead=True),
    "holder answers without end": OddRun(
        listener(b"x" * 65536), "it sent more than 1048576 bytes without a newline", holder_dead=True
    ),
    "exit record is a list": OddRun(ends_with(b"[]"), holder_dead=True),
    "exit record is a number": OddRun(ends_with(b"3"), holder_dead=True),
    "exit record has wrong types": OddRun(ends_with(b'{"code": [], "signal": 9, "error": {}}'), holder_dead=True),
    "exit record has 200,000 levels": OddRun(ends_with(DEEP), holder_dead=True),
    "segment is a FIFO": OddRun(put(FIRST, os.mkfifo), f"`{FIRST}` is a FIFO, not a regular file"),
    "segment is a directory": OddRun(put(FIRST, Path.mkdir), f"`{FIRST}` is a directory, not a regular file"),
    "segment is a link to itself": OddRun(put(FIRST, self_link), f"`{FIRST}` is a symbolic link, not a regular file"),
    "segment is a terabyte": OddRun(put(FIRST, sparse), f"`{FIRST}` is longer than 268435456 bytes"),
    "segment is truncated": OddRun(cut, holder_dead=True),
    "segment is garbage": OddRun(put(FIRST, lambda path: path.write_bytes(os.urandom(1 << 22))), holder_dead=True),
    "segment is missing": OddRun(put(FIRST, lambda _: None), holder_dead=True),
    "segment is there twice": OddRun(lambda run, _: (run / (FIRST + ".gz")).write_bytes(b"no gzip"), holder_dead=True),
    "segment of a far future": OddRun(
        put(segment_name(10**19), lambda path: path.write_bytes(b"garbage")), holder_dead=True
    ),
    "modified in the year 2200": OddRun(lambda run, _: os.utime(run, (7_258_118_400, 7_258_118_400))),
}


def put_strays(runs: Path) -> dict[str, str]:
    """Entries that belong to no session, all at once; what is reported of each, by its printable name."""
    (runs / "file").write_text("x")
    (runs / "name\nwith a newline").touch()
    os.close(os.open(os.fsencode(runs) + b"/\xff\xfe", os.O_CREAT | os.O_WRONLY))
    (runs / "dangling").symlink_to("nowhere")
    (runs / "loop").symlink_to("loop")
    (runs / "root").symlink_to("/")
    os.mkfifo(runs / "fifo")
    bound_socket(runs / "bound")
    sparse(runs / "terabyte")
    for number in range(2000):
        (runs / f"empty-{number}").mkdir()
    (runs / ("n" * 255)).mkdir()
    locked = runs / "locked"
    locked.mkdir()
    os.mkfifo(locked / "lock")
    return {
        "file": "it is a regular file, not a directory",
        "name?with a newline": "it is a regular file, not a directory",
        "??": "it is a regular file, not a directory",
        "dangling": "it is a symbolic link, not a directory",
        "loop": "it is a symbolic link, not a directory",
        "root": "it is a symbolic link, not a directory",
        "fifo": "it is a FIFO, not a directory",
        "bound": "it is a socket, not a directory",
        "terabyte": "it is a regular file, not a directory",
        "locked": "`lock` is a FIFO, not a regular file",
    }
