"""Read a file that anybody may have replaced: a pipe or a device does not block the reader."""

import errno
import os
import stat
from pathlib import Path


def read_plain(path: Path, limit_bytes: int) -> bytes:
    """The file's first bytes, at most `limit_bytes`.

    Raises:
        OSError: it cannot be read, or is no plain file.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file", str(path))
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            return file.read(limit_bytes)
    finally:
        os.close(descriptor)
