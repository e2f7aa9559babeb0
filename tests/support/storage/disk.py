"""A file system of its own that can be filled."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from support.plugins.requirements import absent


@contextmanager
def small_disk(place: Path, megabytes: int) -> Iterator[Path]:
    """A mounted file system of so many megabytes; the test is skipped, aloud, where none can be mounted."""
    with mounted(place, megabytes) as trouble:
        if trouble:
            absent("mount", f"no small file system can be mounted here: {trouble}")
        yield place


@contextmanager
def mounted(place: Path, megabytes: int) -> Iterator[str]:
    """A file system is mounted at this place inside the block; where none can be, why not."""
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(place)]
    mounting = subprocess.run(command, capture_output=True)
    try:
        yield mounting.stderr.decode().strip() if mounting.returncode else ""
    finally:
        if not mounting.returncode:
            subprocess.run(["umount", "-l", str(place)], check=True)


def fill(disk: Path) -> Path:
    """Take all the room there is; the file that takes it."""
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as out:
        for size in (1 << 20, 1 << 12, 1):
            try:
                while out.write(b"\0" * size):
                    pass
            except OSError:
                continue
    return filler
