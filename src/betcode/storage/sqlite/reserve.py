"""A small reserve file, deleted when a full disk would prevent the database from being read."""

import logging
import os
from pathlib import Path

from betcode.util.state_files import open_file

logger = logging.getLogger(__name__)

_BYTES = 128 * 1024  # SQLite's index of the write-ahead log takes 32 KiB at first


def make(path: Path) -> None:
    """Reserve disk space, if there is some; the database works without."""
    reserve = _reserve(path)
    try:
        descriptor = open_file(reserve, os.O_WRONLY | os.O_CREAT)
        try:
            missing = _BYTES - os.fstat(descriptor).st_size
            if missing > 0:
                os.pwrite(descriptor, os.urandom(missing), _BYTES - missing)  # not sparse, and not compressible
        finally:
            os.close(descriptor)
    except OSError as error:
        logger.debug("no disk space is reserved: %s", error)


def give_back(path: Path) -> bool:
    """Free the reserved disk space; whether there was some."""
    try:
        _reserve(path).unlink()
    except OSError:
        return False
    logger.warning("the database could not be opened: the reserved disk space is used")
    return True


def _reserve(path: Path) -> Path:
    return path.with_name(path.name + ".reserve")
