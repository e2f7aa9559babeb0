"""Write files atomically: under the final name there is the old file or the complete new one, never a part.

A new file is private from its first byte (mode 0600) unless the caller passes another mode. If the writer fails, the
temporary file is deleted and the target is unchanged.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
_NAME_LENGTH = 32  # of the target's name in a temporary name; a name may be at most 255 bytes


@contextmanager
def replacing(
    target: Path,
    *,
    mode: int = 0o600,
    durable: bool = True,
    temporary: Path | None = None,
    directory: int | None = None,
) -> Iterator[BinaryIO]:
    """A file to write; it gets the name `target` when the block ends without an exception.

    `mode` applies to a new file and is reduced by the umask. `durable`: the file and its name survive a power cut.
    `temporary` is a fixed name for the unfinished file: one that an earlier writer left behind is deleted first, so the
    caller makes sure that there is only one writer. `directory` is an open directory that `target` is relative to.

    Raises: OSError.
    """
    unfinished = temporary or _temporary(target)
    if temporary is not None:
        temporary.unlink(missing_ok=True)
    descriptor = os.open(unfinished, _CREATE, mode, dir_fd=directory)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            if durable:
                os.fsync(file.fileno())
        os.replace(unfinished, target, src_dir_fd=directory, dst_dir_fd=directory)
    except BaseException:
        with suppress(OSError):
            os.unlink(unfinished, dir_fd=directory)
        raise
    if durable and directory is None:
        _sync(target.parent)
    elif durable and directory is not None:
        os.fsync(directory)


def replace_file(target: Path, data: bytes, *, mode: int = 0o600, durable: bool = True) -> None:
    """Write `data` as the new content of `target`. Raises: OSError."""
    with replacing(target, mode=mode, durable=durable) as file:
        file.write(data)


def create_file(target: Path, data: bytes) -> bool:
    """Create a private file with this content; False if there is one already, which stays as it is.

    Raises: OSError.
    """
    unfinished = _temporary(target)
    try:
        with os.fdopen(os.open(unfinished, _CREATE, 0o600), "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        target.hardlink_to(unfinished)  # unlike a rename, it fails if the name is taken
    except FileExistsError:
        return False
    finally:
        unfinished.unlink(missing_ok=True)
    _sync(target.parent)
    return True


def install_file(finished: Path, target: Path) -> None:
    """Give a finished file its name, durably. Raises: OSError; then `target` is unchanged."""
    _sync(finished)
    finished.replace(target)
    _sync(target.parent)


def _temporary(target: Path) -> Path:
    return target.with_name(f".{target.name[:_NAME_LENGTH]}.{os.urandom(6).hex()}.new")


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
