"""Give a finished file its name durably, so that a power cut leaves the old file or the new one."""

import os
from pathlib import Path


def install_file(unfinished: Path, target: Path) -> None:
    """Raises OSError; then `target` is what it was."""
    _sync(unfinished)
    unfinished.replace(target)
    _sync(target.parent)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
