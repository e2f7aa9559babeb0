"""The process behind support.processes.preloaded: it imports betcode once, and forks when it is asked to.

It has one thread, which is what makes forking safe.
"""

import gc
import importlib
import json
import os
import select
import signal
import socket
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import betcode.cli.core.dispatch
import betcode.cli.main
import betcode.cli.obey.dispatch
import betcode.cli.obey.main
import betcode.client
import betcode.daemon.__main__
import betcode.daemon.command_line
import betcode.daemon.run  # noqa: F401 (all of these are for the processes that are forked)

_REQUEST_BYTES = 1 << 17


def main() -> None:
    gc.collect()
    gc.freeze()  # the pages stay shared
    assert len(list(Path("/proc/self/task").iterdir())) == 1
    asked = _serve(socket.socket(fileno=int(sys.argv[1])))
    if asked is not None:  # in the child
        _run(asked)


def _serve(connection: socket.socket) -> Any:
    """What a child is to do, in the child; None when the asking process has ended."""
    waiting = select.poll()
    waiting.register(connection, select.POLLIN)
    children: dict[int, tuple[int, int]] = {}  # pid and where its exit code is wanted, by its descriptor
    while True:
        for descriptor, _ in waiting.poll():
            if descriptor in children:
                waiting.unregister(descriptor)
                _tell_end(descriptor, *children.pop(descriptor))
                continue
            request, streams, _, _ = socket.recv_fds(connection, _REQUEST_BYTES, 4)
            if not request:
                return None
            pid = os.fork()
            if pid == 0:
                return _as_asked(json.loads(request), streams, connection)
            for each in streams[:3]:
                os.close(each)
            handle = os.pidfd_open(pid)
            children[handle] = (pid, streams[3])
            waiting.register(handle, select.POLLIN)


def _tell_end(handle: int, pid: int, wanted: int) -> None:
    _, status = os.waitpid(pid, 0)
    with suppress(BrokenPipeError):  # nobody waits for it
        os.write(wanted, str(os.waitstatus_to_exitcode(status)).encode())
    os.close(handle)
    os.close(wanted)


def _as_asked(asked: Any, streams: list[int], connection: socket.socket) -> Any:
    """Make this process what a new interpreter would be, and then say its pid."""
    if asked["new_session"]:
        os.setsid()
    os.chdir(asked["directory"])
    for number in range(3):
        os.dup2(streams[number], number)
    connection.send(str(os.getpid()).encode())
    connection.detach()
    os.closerange(3, 1 << 12)
    os.environ.clear()
    os.environ.update(asked["environment"])
    time.tzset()
    sys.stdin = os.fdopen(0, closefd=False)
    sys.stdout = os.fdopen(1, "w", closefd=False, errors="surrogateescape")
    sys.stderr = os.fdopen(2, "w", buffering=1, closefd=False, errors="backslashreplace")
    return asked


def _run(asked: Any) -> None:
    module = importlib.import_module(asked["module"])
    sys.argv = [str(module.__file__), *asked["arguments"]]
    sys.exit(module.main())


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    main()
