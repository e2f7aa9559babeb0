"""Daemons and commands in real processes whose modules are loaded already.

Most of the processor time of a short-lived daemon or command is spent on imports. One process per test worker imports
everything once and forks: each daemon and command still has a process, a session, an environment, streams and an exit
code of its own. What depends on the start of the interpreter itself needs a new one: see `can_fork`.
"""

import atexit
import functools
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

from betcode.holder.platform import RUN_MARKER
from support.patience import PATIENCE_S

# What is started as `python -m NAME`, and the module that has its `main`.
PROGRAMS = {
    "betcode.daemon": "betcode.daemon.__main__",
    "betcode": "betcode.cli.main",
    "betcode.cli.obey.main": "betcode.cli.obey.main",
}
# gRPC reads its variable when it is imported; daemon and commands set it before that.
_ENVIRONMENT = {"PATH": "/usr/bin:/bin", "HOME": "/", "LANG": "C.UTF-8", "GRPC_VERBOSITY": "NONE"}
# Read once, when the interpreter or a C library starts, or by other processes from /proc.
_READ_AT_START = ("PYTHON", "LANG", "LC_", "LD_", "GRPC_", "COV", "TEXTUAL", RUN_MARKER)
_REQUEST_BYTES = 1 << 17
_COMMAND_LINE_BYTES = 1 << 13  # for the command lines that forked processes show


def can_fork(argv: Sequence[str], environment: Mapping[str, str]) -> bool:
    """Whether a fork of a loaded process does the same as a new interpreter would."""
    if list(argv[:2]) != [sys.executable, "-m"] or argv[2] not in PROGRAMS:
        return False
    read = {name: value for name, value in environment.items() if name.startswith(_READ_AT_START)}
    return read == {"LANG": _ENVIRONMENT["LANG"]}


class Forked:
    """A process that another one forked for this one; as subprocess.Popen."""

    def __init__(self, pid: int, status: int) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self._status = status
        self._lock = threading.Lock()

    def __del__(self) -> None:
        os.close(self._status)

    def poll(self) -> int | None:
        """The exit code; None while it runs."""
        with self._lock:
            if self.returncode is None and select.select([self._status], [], [], 0)[0]:
                said = os.read(self._status, 16)
                assert said, "the process that forks has ended"
                self.returncode = int(said)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the exit code.

        Raises:
            subprocess.TimeoutExpired: it still runs.
        """
        select.select([self._status], [], [], timeout)
        code = self.poll()
        if code is None:
            raise subprocess.TimeoutExpired(str(self.pid), timeout or 0)
        return code

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


Started = Forked | subprocess.Popen[bytes]


def start(
    argv: Sequence[str],
    environment: Mapping[str, str],
    directory: Path,
    streams: tuple[int, int, int],
    *,
    new_session: bool = False,
    terminal: bool = False,
) -> Forked:
    """Fork a process for which `can_fork` holds, with these as stdin, stdout and stderr.

    With `terminal` its stdin becomes its controlling terminal; that needs a new session.
    """
    asked = {
        "module": PROGRAMS[argv[2]],
        "argv": list(argv),
        "arguments": list(argv[3:]),
        "environment": dict(environment),
        "directory": str(directory),
        "new_session": new_session,
        "terminal": terminal,
        "blocked": [],
    }
    reading, writing = os.pipe()
    try:
        pid = _forker().ask(json.dumps(asked).encode(), [*streams, writing])
    except BaseException:
        os.close(reading)
        raise
    finally:
        os.close(writing)
    return Forked(pid, reading)


def run(
    argv: Sequence[str], environment: Mapping[str, str], directory: Path, stdin: str | None = None
) -> "subprocess.CompletedProcess[str]":
    """Run to the end, without a terminal, and capture what it writes; in a new interpreter where it has to be one."""
    if not can_fork(argv, environment):
        return subprocess.run(
            argv,
            env=environment,
            cwd=directory,
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
        )
    to_it, its_in = _pipe_in() if stdin is not None else (None, os.open(os.devnull, os.O_RDONLY))
    out, its_out = _pipe_out()
    err, its_err = _pipe_out()
    try:
        process = start(argv, environment, directory, (its_in, its_out, its_err))
    finally:
        for descriptor in (its_in, its_out, its_err):
            os.close(descriptor)
    texts: dict[str, str] = {}
    readers = [threading.Thread(target=_read, args=(texts, name, file)) for name, file in (("out", out), ("err", err))]
    if to_it is not None:
        readers.append(threading.Thread(target=_write, args=(to_it, stdin)))
    for each in readers:
        each.start()
    try:
        code = process.wait(PATIENCE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        raise
    finally:
        for each in readers:
            each.join(PATIENCE_S)
    return subprocess.CompletedProcess(list(argv), code, texts["out"], texts["err"])


def _pipe_in() -> tuple[IO[str], int]:
    reading, writing = os.pipe()
    return os.fdopen(writing, "w"), reading


def _pipe_out() -> tuple[IO[str], int]:
    reading, writing = os.pipe()
    return os.fdopen(reading), writing


def _read(texts: dict[str, str], name: str, file: IO[str]) -> None:
    with file:
        texts[name] = file.read()


def _write(file: IO[str], text: str) -> None:
    with suppress(BrokenPipeError), file:  # it may not read all
        file.write(text)


class _Forker:
    """The process that has everything loaded."""

    def __init__(self) -> None:
        self._connection, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._lock = threading.Lock()
        program = Path(__file__).with_name("preload_server.py")
        argv = [sys.executable, "-P", str(program), str(theirs.fileno()), "-" * _COMMAND_LINE_BYTES]
        self._process = subprocess.Popen(argv, env=_ENVIRONMENT, cwd="/", pass_fds=[theirs.fileno()])
        theirs.close()
        self._connection.settimeout(PATIENCE_S)

    def ask(self, request: bytes, descriptors: list[int]) -> int:
        assert len(request) < _REQUEST_BYTES
        with self._lock:
            socket.send_fds(self._connection, [request], descriptors)
            return int(self._connection.recv(16))

    def end(self) -> None:
        self._connection.close()
        self._process.wait()


@functools.cache
def _forker() -> _Forker:
    forker = _Forker()
    atexit.register(forker.end)
    return forker
