"""Ends an agent and everything it started: gracefully first, with a limit on each wait."""

import os
import signal
from collections.abc import Callable

from betcode.holder.agent import Agent
from betcode.holder.platform import Process, descendants, send_signal

_SWEEP_EVERY_S = 0.02
_SWEEP_SELDOM_S = 0.5
_LEFTOVER_GRACE_S = 1.0
_GIVE_UP_S = 5.0

# The stages, in order; a stage is only ever followed by a later one.
RUNNING, AT_EOF, TERMINATED, LEFTOVERS, KILLING, GONE = range(6)


def stop_and_kill(find: Callable[[], list[Process]]) -> int:
    """Stop what `find` returns until it finds nothing new, then kill all of it; return their number.

    A stopped process cannot fork, so none is created between search and kill.
    """
    stopped: dict[int, Process] = {}
    for _ in range(50):
        fresh = [one for one in find() if one.pid not in stopped]
        if not fresh:
            break
        for one in fresh:
            send_signal(one, signal.SIGSTOP)
            stopped[one.pid] = one
    for one in stopped.values():
        send_signal(one, signal.SIGKILL)
    return len(stopped)


class Ending:
    """The progress of ending a run; `step` is called when `due` has come."""

    def __init__(self, agent: Agent, close_input: Callable[[], None], note: Callable[[str], None]) -> None:
        self._agent = agent
        self._close_input = close_input
        self._note = note
        self._grace_s = 0.0
        self._deadline = 0.0
        self.stage = RUNNING
        self.due: float | None = None

    def begin(self, grace_s: float, *, idle: bool, now: float) -> None:
        """End the run. `idle` means that nothing is open, so that EOF (an answer, to some agents) does no harm."""
        self._grace_s = grace_s
        if self._agent.status is not None:
            return  # it has ended; its remaining processes are being ended
        if self.stage == RUNNING and idle:
            self.stage, self.due = AT_EOF, now + grace_s
            self._close_input()
        elif self.stage == RUNNING or (self.stage == AT_EOF and not idle):
            self._terminate(now)
        elif self.due is not None:
            self.due = min(self.due, now + grace_s)

    def agent_left(self, now: float) -> None:
        """Give the remaining processes a moment, because the agent has ended; then end them too."""
        left = descendants(os.getpid())
        if not left:
            self.stage, self.due = GONE, None
        elif self.stage < LEFTOVERS:
            for one in left:
                send_signal(one, signal.SIGTERM)
            self.stage, self.due, self._deadline = LEFTOVERS, now + _SWEEP_EVERY_S, now + _LEFTOVER_GRACE_S
            self._note(f"the agent left {len(left)} processes behind; ending them")

    def step(self, now: float) -> None:
        """Do what is due."""
        if self.stage == AT_EOF:
            self._terminate(now)
        elif self.stage == TERMINATED:
            self._kill(now)
        elif self.stage == LEFTOVERS:
            if not descendants(os.getpid()):
                self.stage, self.due = GONE, None
            elif now < self._deadline:
                self.due = now + _SWEEP_EVERY_S
            else:
                self._kill(now)
        elif self.stage == KILLING:
            self._sweep(now)

    def _terminate(self, now: float) -> None:
        os.kill(self._agent.pid, signal.SIGTERM)  # not reaped yet, so the pid is still its own
        self.stage, self.due = TERMINATED, now + self._grace_s

    def _kill(self, now: float) -> None:
        self.stage, self._deadline = KILLING, now + _GIVE_UP_S
        self._sweep(now)

    def _sweep(self, now: float) -> None:
        found = stop_and_kill(lambda: descendants(os.getpid()))
        self.due = now + (_SWEEP_EVERY_S if now < self._deadline else _SWEEP_SELDOM_S)
        if self._agent.status is None:
            return  # the kernel ends it later; a process that sleeps in the kernel may take a while
        if not found:
            self.stage, self.due = GONE, None
        elif now >= self._deadline:
            self._note(f"{found} processes cannot be ended")
            self.stage, self.due = GONE, None
