"""A directory on a disk that does not answer, for the process of the test alone."""

import asyncio
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import Any

from support.patience import PATIENCE_S


@dataclass
class HungDisk:
    """Looks below `directory` wait until it `comes_back`; those of an event loop, which would stop all, are noted."""

    directory: Path
    on_a_loop: list[str] = field(default_factory=list)
    answers: Event = field(default_factory=Event)

    def comes_back(self) -> None:
        self.answers.set()

    def hangs_at(self, look: Callable[..., Any]) -> Callable[..., Any]:
        def hanging(path: Any, *args: Any, **more: Any) -> Any:
            if isinstance(path, str | os.PathLike) and Path(os.fspath(path)).is_relative_to(self.directory):
                if _is_on_a_loop():
                    self.on_a_loop.append(str(path))
                else:
                    self.answers.wait(PATIENCE_S)
            return look(path, *args, **more)

        return hanging


def _is_on_a_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


@contextmanager
def hung_disk(directory: Path) -> Iterator[HungDisk]:
    disk = HungDisk(directory)
    stat, lstat, opened = os.stat, os.lstat, os.open
    os.stat, os.lstat, os.open = disk.hangs_at(stat), disk.hangs_at(lstat), disk.hangs_at(opened)
    try:
        yield disk
    finally:
        os.stat, os.lstat, os.open = stat, lstat, opened
        disk.comes_back()
