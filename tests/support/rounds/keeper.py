"""Keeps a round's daemon running: when it is gone another one is started, and an unasked end is remembered."""

import os
import signal

import anyio

from support.daemon.process import Daemon

_LOOK_EVERY_S = 0.01
_CANNOT_SERVE = (1, 120)  # while nothing can be written; 120 is Python's own where not even the reason could be written


class Keeper:
    def __init__(self, daemon: Daemon) -> None:
        self._daemon = daemon
        self._asked: set[int] = set()  # processes that were told to end, or that will die by themselves
        self._doomed: set[int] = set()  # those that will die at a named step, if they come to it
        self._fault = ""
        self.unasked_ends: list[str] = []
        self.was_short = False
        self.keeps = True
        self.starts = 0

    @property
    def pid(self) -> int:
        return self._daemon.pid

    def kill(self, *, next_fault: str = "") -> None:
        """SIGKILL; the next one may die at a named step."""
        self._fault = next_fault
        self._asked.add(self.pid)
        self._daemon.kill()

    def signal(self, number: signal.Signals) -> None:
        if self._daemon.exit_code is None:
            os.kill(self.pid, number)

    def heal(self) -> None:
        """From here on nothing dies by itself any more."""
        self._fault = ""
        if self.pid in self._doomed:
            self.kill()

    def ask_to_end(self) -> int:
        """The process that is about to be told to end."""
        self._asked.add(self.pid)
        return self.pid

    async def keep(self) -> None:
        while True:
            code = self._daemon.exit_code
            if code is not None and self.keeps:
                self._note(code)
                self._start()
            await anyio.sleep(_LOOK_EVERY_S)

    def _note(self, code: int) -> None:
        if self.pid not in self._asked and not (self.was_short and code in _CANNOT_SERVE):
            self.unasked_ends.append(f"exit code {code}, said {self._daemon.stderr[-600:]!r}")

    def _start(self) -> None:
        fault, self._fault = self._fault, ""
        self.starts += 1
        self._daemon.launch(**({"BETCODE_FAULT": fault} if fault else {}))
        if fault:
            self._asked.add(self.pid)
            self._doomed.add(self.pid)
