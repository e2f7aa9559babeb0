"""Journal retention: compress journals that were read, then delete them by age or total size."""

import logging
import shutil
import stat
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from betcode.holder.launch import bar, is_alive
from betcode.holder.segments import compress_behind
from betcode.util.state_files import UnusableEntry, mode_of, names_in, shown

logger = logging.getLogger(__name__)

_EVERYTHING = 1 << 62  # a finished journal lies behind every reader
_FULL_BELOW_BYTES = 64 * 1024
_BLOCK_BYTES = 512  # of `st_blocks`: what a file takes on disk, however long a sparse one claims to be


@dataclass(frozen=True, slots=True)
class SweepResult:
    compressed: int = 0  # segments
    removed: int = 0  # runs


def sweep(
    runs_dir: Path, committed: Mapping[str, int], *, keep_s: float, keep_bytes: int, now: float | None = None
) -> SweepResult:
    """Compress what lies behind the committed offsets of live runs, and drop ended runs that are old or too many.

    `committed` has the offsets of live runs by id; the others have ended. A run whose holder lives is never dropped.
    """
    now = time.time() if now is None else now
    compressed = 0
    ended: list[tuple[float, Path]] = []
    for directory in _directories(runs_dir):
        live_offset = committed.get(directory.name)
        extra = {"run_id": shown(directory)}
        has_ended = False
        try:
            has_ended = live_offset is None and not is_alive(directory)
            if live_offset is not None:
                compressed += compress_behind(directory, live_offset)
            elif has_ended:
                compressed += compress_behind(directory, _EVERYTHING, finished=True)
        except UnusableEntry as trouble:
            # Nobody knows what it is: it stays until a person has decided. `doctor` names it.
            logger.debug("skipped a run: %s", trouble, extra=extra)
            continue
        except OSError as trouble:
            # The disk may be full. Nothing is lost, and dropping old runs is what makes room.
            logger.warning("a journal could not be compressed: %s", trouble, extra=extra)
        if has_ended:
            _remove_socket(directory)
            ended.append((_changed(directory), directory))
    removed = 0
    total = 0
    for changed, directory in sorted(ended, reverse=True):
        total += _size(directory)
        if now - changed > keep_s or total > keep_bytes:
            shutil.rmtree(directory, ignore_errors=True)
            removed += not directory.exists()
    return SweepResult(compressed, removed)


def is_full(runs_dir: Path) -> bool:
    """Whether the journals' disk has no room left."""
    try:
        return shutil.disk_usage(runs_dir).free < _FULL_BELOW_BYTES
    except OSError:
        return False  # somebody removed it; the next agent's start makes it again


def _remove_socket(directory: Path) -> None:
    """A holder and the daemon that would have seen it off were killed together: nobody will answer there."""
    with suppress(OSError):
        if (directory / "socket").exists():
            bar(directory)


def _directories(runs_dir: Path) -> list[Path]:
    try:
        return sorted(path for name in names_in(runs_dir) if stat.S_ISDIR(mode_of(path := runs_dir / name)))
    except OSError:
        return []  # somebody removed it: there is nothing to keep


def _changed(directory: Path) -> float:
    try:
        return directory.stat().st_mtime
    except OSError:
        return 0.0  # gone meanwhile


def _size(directory: Path) -> int:
    try:
        found = [path.lstat() for path in directory.iterdir()]
    except OSError:
        return 0
    return sum(min(facts.st_size, facts.st_blocks * _BLOCK_BYTES) for facts in found if stat.S_ISREG(facts.st_mode))
