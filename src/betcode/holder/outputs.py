"""Reads the agent's output only as fast as the journal accepts it, so that nothing is lost."""

import os
import selectors
from collections.abc import Callable

from betcode.holder.agent import PIPE_BYTES, Agent
from betcode.holder.journal import Journal
from betcode.holder.lines import LineRecorder

_LAST_READS = 16


class Outputs:
    """Reads both streams of the agent until their ends."""

    def __init__(self, journal: Journal, agent: Agent, selector: selectors.BaseSelector) -> None:
        self._journal = journal
        self._selector = selector
        self._open = {agent.stdout: LineRecorder(journal, b"out"), agent.stderr: LineRecorder(journal, b"err")}
        self._watched: set[int] = set()

    @property
    def ended(self) -> bool:
        """Both streams were read to their ends."""
        return not self._open

    def watch(self) -> None:
        """Read while the journal accepts data; otherwise leave the data in the pipes, so that the agent waits."""
        if not self._journal.has_room():
            for fd in self._watched:
                self._selector.unregister(fd)
            self._watched.clear()
            return
        for fd in self._open:
            if fd not in self._watched:
                self._selector.register(fd, selectors.EVENT_READ, self._reader(fd))
                self._watched.add(fd)

    def cut(self) -> None:
        """Read what is in the pipes now, without waiting for more."""
        for fd in list(self._open):
            for _ in range(_LAST_READS):  # a process outside the tree could write forever
                if not self._read(fd):
                    break
            if fd in self._watched:
                self._end(fd)

    def _reader(self, fd: int) -> Callable[[int], None]:
        def ready(_events: int) -> None:
            self._read(fd)

        return ready

    def _read(self, fd: int) -> bool:
        if fd not in self._watched:
            return False  # an event that arrived together with the one that filled the disk
        try:
            chunk = os.read(fd, PIPE_BYTES)
        except BlockingIOError:
            return False
        if chunk:
            self._open[fd].feed(chunk)
        else:
            self._end(fd)
        if not self._journal.has_room():
            self.watch()
        return bool(chunk)

    def _end(self, fd: int) -> None:
        self._selector.unregister(fd)
        self._watched.discard(fd)
        self._open.pop(fd).finish()
        os.close(fd)
