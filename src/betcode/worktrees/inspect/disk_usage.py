"""Measures the disk usage of a directory."""

import os
import time
from dataclasses import dataclass
from pathlib import Path

_LOOK_AT_THE_CLOCK_EVERY = 512


@dataclass(frozen=True, slots=True)
class DiskUsage:
    bytes: int = 0
    is_partial: bool = False  # it could not be measured to its end


def disk_usage(path: str, bound_s: float) -> DiskUsage:
    """Return the disk space of its files, each once; links are not followed. It may block for long."""
    until = time.monotonic() + bound_s
    taken, seen, waiting = 0, set[tuple[int, int]](), [path]
    is_partial, looked_at = not Path(path).is_dir(), 0
    while waiting:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    looked_at += 1
                    if looked_at % _LOOK_AT_THE_CLOCK_EVERY == 0 and time.monotonic() > until:
                        return DiskUsage(taken, is_partial=True)
                    facts = entry.stat(follow_symlinks=False)
                    if facts.st_nlink > 1 and not entry.is_dir(follow_symlinks=False):
                        if (facts.st_dev, facts.st_ino) in seen:
                            continue
                        seen.add((facts.st_dev, facts.st_ino))
                    taken += facts.st_blocks * 512
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
        except OSError:
            is_partial = True
    return DiskUsage(taken, is_partial)
