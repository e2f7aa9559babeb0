"""The process behind support.processes.preloaded: it imports betcode once, and forks on request.

It has one thread, which makes forking safe. Commands that it forked may start a daemon; they request it here too.
"""

import ctypes
import fcntl
import gc
import importlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import termios
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import betcode.cli.core.dispatch
import betcode.cli.daemon.control
import betcode.cli.main
import betcode.cli.obey.dispatch
import betcode.cli.obey.main
import betcode.client
import betcode.daemon.__main__
import betcode.daemon.command_line
import betcode.daemon.run
import betcode.util.start_signals

_DAEMON = "betcode.daemon.__main__"
_REQUEST_BYTES = 1 << 17
_DESCRIPTORS = 1 << 12


def main() -> None:
    gc.collect()
    gc.freeze()  # the pages stay shared
    assert len(list(Path("/proc/self/task").iterdir())) == 1
    request = _serve(socket.socket(fileno=int(sys.argv[1])))
    if request is not None:  # in the child
        _run(request)


def _serve(connection: socket.socket) -> Any:
    """The request that a child must carry out, in the child; None when the test process has ended."""
    poll = select.poll()
    requesters = {connection.fileno(): connection}
    poll.register(connection, select.POLLIN)
    children: dict[int, tuple[int, int]] = {}  # pid and descriptor for the exit code, by the child's pidfd
    while True:
        for descriptor, _ in poll.poll():
            if descriptor in children:
                poll.unregister(descriptor)
                _report_exit(descriptor, *children.pop(descriptor))
                continue
            requester = requesters[descriptor]
            data, streams = _received(requester)
            if not data and requester is connection:
                return None
            if not data:  # a command has ended
                poll.unregister(requester)
                requesters.pop(descriptor).close()
                continue
            request = json.loads(data)
            ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            pid = os.fork()
            if pid == 0:
                return _prepared(request, streams, requester, theirs)
            theirs.close()
            for each in streams[:3]:
                os.close(each)
            requesters[ours.fileno()] = ours
            poll.register(ours, select.POLLIN)
            handle = os.pidfd_open(pid)
            children[handle] = (pid, streams[3])
            poll.register(handle, select.POLLIN)


def _received(requester: socket.socket) -> tuple[bytes, list[int]]:
    try:
        data, streams, _, _ = socket.recv_fds(requester, _REQUEST_BYTES, 4)
    except ConnectionError:  # killed with an unread answer
        return b"", []
    return data, streams


def _report_exit(handle: int, pid: int, wanted: int) -> None:
    _, status = os.waitpid(pid, 0)
    with suppress(BrokenPipeError):  # nobody waits for it
        os.write(wanted, str(os.waitstatus_to_exitcode(status)).encode())
    os.close(handle)
    os.close(wanted)


def _prepared(request: Any, streams: list[int], requester: socket.socket, server: socket.socket) -> Any:
    """Make this process like a new interpreter, and then report its pid."""
    if request["new_session"]:
        os.setsid()
    os.chdir(request["directory"])
    for number in range(3):
        os.dup2(streams[number], number)
    if request["terminal"]:
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    _show_command_line(request["argv"])
    if request["module"] == _DAEMON:
        signal.pthread_sigmask(signal.SIG_BLOCK, request["blocked"])
    requester.send(str(os.getpid()).encode())
    kept = server.detach()
    os.closerange(3, kept)
    os.closerange(kept + 1, _DESCRIPTORS)
    if request["module"] == _DAEMON:
        os.close(kept)
    else:
        _fork_daemons(socket.socket(fileno=kept))
    os.environ.clear()
    os.environ.update(request["environment"])
    time.tzset()
    sys.stdin = os.fdopen(0, closefd=False)
    sys.stdout = os.fdopen(1, "w", closefd=False, errors="surrogateescape")
    sys.stderr = os.fdopen(2, "w", buffering=1, closefd=False, errors="backslashreplace")
    return request


def _show_command_line(argv: Sequence[str]) -> None:
    """Write these arguments where /proc/PID/cmdline reads them; preloaded.py reserves the memory."""
    fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    begin, end = int(fields[45]), int(fields[46])
    words = b"".join(os.fsencode(word) + b"\0" for word in argv)[: end - begin - 1]
    ctypes.memmove(begin, words.ljust(end - begin, b"\0"), end - begin)


def _fork_daemons(server: socket.socket) -> None:
    """A daemon that this command starts is forked by the server, unless a service manager starts it."""

    def start(argv: list[str], **options: Any) -> Any:
        if argv[:4] != [sys.executable, "-P", "-m", "betcode.daemon"]:
            return subprocess.Popen(argv, **options)
        return _ForkedDaemon(server, argv, options["stdout"], options["cwd"])

    vars(betcode.cli.daemon.control)["subprocess"] = SimpleNamespace(Popen=start, DEVNULL=subprocess.DEVNULL)


class _ForkedDaemon:
    """The part of subprocess.Popen that a command uses of its daemon."""

    def __init__(self, server: socket.socket, argv: list[str], log: int, directory: str) -> None:
        self.returncode: int | None = None
        request = {
            "module": _DAEMON,
            "argv": argv,
            "arguments": argv[4:],
            "environment": dict(os.environ),
            "directory": directory,
            "new_session": True,
            "terminal": False,
            "blocked": [int(number) for number in betcode.util.start_signals.HELD],
        }
        self._status, wanted = os.pipe()
        null = os.open(os.devnull, os.O_RDONLY)
        socket.send_fds(server, [json.dumps(request).encode()], [null, log, log, wanted])
        os.close(null)
        os.close(wanted)
        server.recv(16)

    def poll(self) -> int | None:
        if self.returncode is None and select.select([self._status], [], [], 0)[0]:
            self.returncode = int(os.read(self._status, 16))
        return self.returncode


def _run(request: Any) -> None:
    module = importlib.import_module(request["module"])
    sys.argv = [str(module.__file__), *request["arguments"]]
    sys.exit(module.main())


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    main()
