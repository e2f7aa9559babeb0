"""Socket files in a private directory: a stale file is replaced, a live one never."""

import errno
import fcntl
import os
import socket
import stat
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import anyio
import anyio.to_thread

from betcode.util.state_files import open_file

_ADDRESS_LIMIT_BYTES = 107 if sys.platform == "linux" else 103
_OUR_DIRECTORIES = ("betcode", "obey")
CHECK_EVERY_S = 2.0


class SocketTaken(Exception):
    """The socket is not available; the message is one sentence with the reason."""


@dataclass(frozen=True, slots=True)
class SocketFile:
    path: Path
    address: str  # what to bind: the path, or a short name for it where it is too long for a socket address

    def made_private(self) -> None:
        """Nobody but this user may connect."""
        self.path.chmod(0o600)

    def bound(self) -> socket.socket:
        """Return a private socket that is bound to the address and does not listen yet."""
        bound = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            bound.bind(self.address)
            self.made_private()
        except OSError:
            bound.close()
            raise
        return bound


@contextmanager
def own_socket_file(path: Path) -> Iterator[SocketFile]:
    """Hold the right to bind `path` while the block runs; the file is removed afterwards.

    Raises:
        SocketTaken: a live server has it, or it cannot be used.
    """
    with ExitStack() as stack:
        try:
            file = _claimed(path, stack)
        except OSError as error:
            raise SocketTaken(f"{path} cannot be made: {error.strerror or error}") from error
        yield file


@asynccontextmanager
async def claim_socket_file(path: Path) -> AsyncIterator[SocketFile]:
    """Run `own_socket_file` without blocking the event loop if the directory does not answer.

    Raises:
        SocketTaken: a live server has it, or it cannot be used.
    """
    owned = own_socket_file(path)
    file = await anyio.to_thread.run_sync(owned.__enter__)
    try:
        yield file
    finally:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(owned.__exit__, None, None, None)


def _claimed(path: Path, stack: ExitStack) -> SocketFile:
    make_private_directory(path.parent)
    directory = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    stack.callback(os.close, directory)
    # Two daemons with different state directories may have the same socket; grpc would replace the other's.
    lock = open_file(path.with_name(path.name + ".lock"), os.O_RDWR | os.O_CREAT)
    stack.callback(os.close, lock)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise SocketTaken(f"Another daemon serves at {path}: stop it or choose another socket") from None
    file = SocketFile(path, _address(path, directory))
    _remove_stale(file)
    stack.callback(path.unlink, missing_ok=True)
    return file


async def watch(files: Sequence[SocketFile]) -> NoReturn:
    """Watch socket files: a runtime directory is deleted at the last logout, and a server may outlive it.

    Raises:
        SocketTaken: a file was removed. Clients cannot reach this server, and it blocks the next one.
    """
    while True:
        await anyio.sleep(CHECK_EVERY_S)
        for file in files:
            if not await anyio.to_thread.run_sync(file.path.is_socket):
                raise SocketTaken(
                    f"{file.path} was removed, so clients cannot reach this daemon: restart it; its agents continue"
                )


def make_private_directory(directory: Path) -> None:
    """Create a directory that only this user can enter; a shared one is not changed.

    Raises:
        SocketTaken: others may replace the files in it.
    """
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    facts = directory.stat()
    is_ours = directory.name in _OUR_DIRECTORIES or not any(directory.iterdir())
    if is_ours and facts.st_uid == os.getuid():
        directory.chmod(0o700)
        return
    if facts.st_mode & stat.S_IWOTH and not facts.st_mode & stat.S_ISVTX:
        raise SocketTaken(f"{directory} is writable by other users: choose a private directory")


def _address(path: Path, directory: int) -> str:
    if len(os.fsencode(path)) <= _ADDRESS_LIMIT_BYTES:
        return str(path)
    if sys.platform == "linux":
        return f"/proc/self/fd/{directory}/{path.name}"
    raise SocketTaken(f"{path} is longer than a socket's name may be: choose a shorter one with --socket")


def _remove_stale(file: SocketFile) -> None:
    try:
        facts = file.path.lstat()
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(facts.st_mode):
        raise SocketTaken(f"{file.path} is not a socket: remove it or choose another name")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.setblocking(False)  # a full queue proves a live server, however slow it is
        problem = probe.connect_ex(file.address)
    if problem in (errno.ECONNREFUSED, errno.ENOENT):
        file.path.unlink(missing_ok=True)
        return
    raise SocketTaken(f"Another program serves at {file.path}: stop it or choose another socket")
