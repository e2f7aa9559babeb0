"""Records the calls that may block and that a process makes on the thread of a running event loop.

A process that starts with this directory on PYTHONPATH appends one JSON line per call and stack to the file that
BETCODE_TEST_LOOP_CALLS names. Most calls announce themselves by an audit event; the others are wrapped. Calls on open
descriptors (read, write, fstat) are not recorded.
"""

import asyncio
import json
import os
import pwd
import re
import sys
from collections.abc import Callable
from functools import wraps
from types import FrameType
from typing import Any

_EVENTS = frozenset(
    {
        "fcntl.flock",
        "fcntl.lockf",
        "glob.glob",
        "open",
        "os.chdir",
        "os.chflags",
        "os.chmod",
        "os.chown",
        "os.exec",
        "os.fork",
        "os.forkpty",
        "os.getxattr",
        "os.link",
        "os.listdir",
        "os.listxattr",
        "os.lockf",
        "os.mkdir",
        "os.posix_spawn",
        "os.remove",
        "os.removexattr",
        "os.rename",
        "os.rmdir",
        "os.scandir",
        "os.setxattr",
        "os.spawn",
        "os.symlink",
        "os.system",
        "os.truncate",
        "os.utime",
        "socket.getaddrinfo",
        "socket.gethostbyaddr",
        "socket.gethostbyname",
        "socket.getnameinfo",
        "sqlite3.connect",
        "subprocess.Popen",
    }
)
_WITHOUT_EVENT = ("stat", "lstat", "statvfs", "access", "readlink", "fsync", "fdatasync", "mkfifo")
_USER_DATABASE = ("getpwuid", "getpwnam", "getpwall")
_FRAMES = 14
_ROOT = re.compile(r".*(/src/betcode/|/site-packages/|/lib/python3\.\d+/)")


def _install(record: str) -> None:
    descriptor = os.open(record, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    seen: set[tuple[str, tuple[str, ...]]] = set()

    def note(event: str, subject: object) -> None:
        if asyncio._get_running_loop() is None:
            return
        stack = _stack(sys._getframe(2))
        if (event, stack) in seen:
            return
        seen.add((event, stack))
        line = json.dumps({"event": event, "subject": str(subject), "stack": stack})
        os.write(descriptor, line.encode() + b"\n")

    def on_event(event: str, arguments: tuple[object, ...]) -> None:
        if event in _EVENTS or event.startswith("shutil."):
            subject = arguments[0] if arguments else ""
            if not isinstance(subject, int):  # a descriptor that is open already
                note(event, os.fsdecode(subject) if isinstance(subject, bytes | os.PathLike) else subject)

    for name in _WITHOUT_EVENT:
        _wrap(os, name, note)
    for name in _USER_DATABASE:
        _wrap(pwd, name, note)
    sys.addaudithook(on_event)


def _wrap(module: Any, name: str, note: Callable[[str, object], None]) -> None:
    real = getattr(module, name)

    @wraps(real)
    def noting(*args: Any, **more: Any) -> Any:
        subject = args[0] if args else more.get("path", "")
        if module is not os or not isinstance(subject, int) or "sync" in name:
            note(f"{module.__name__}.{name}", subject)
        return real(*args, **more)

    setattr(module, name, noting)
    # The standard library asks here what a function of the system can do.
    for abilities in (os.supports_dir_fd, os.supports_fd, os.supports_follow_symlinks, os.supports_effective_ids):
        if real in abilities:
            abilities.add(noting)


def _stack(frame: FrameType | None) -> tuple[str, ...]:
    """The innermost frames, innermost first: `engine/shell/run.py:212 _read_on`."""
    found: list[str] = []
    while frame is not None and len(found) < _FRAMES:
        code = frame.f_code
        if code.co_filename != __file__:
            found.append(f"{_short(code.co_filename)}:{frame.f_lineno} {code.co_name}")
        frame = frame.f_back
    return tuple(found)


def _short(path: str) -> str:
    found = _ROOT.search(path)
    return path[found.end() :] if found else path


if _record := os.environ.get("BETCODE_TEST_LOOP_CALLS", ""):
    _install(_record)
