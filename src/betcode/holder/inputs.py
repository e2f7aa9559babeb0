"""Numbered inputs: written to the journal first, then once and completely to the agent's stdin."""

import selectors
from collections import deque
from collections.abc import Callable

from betcode.holder.agent import Agent
from betcode.holder.clients import Client
from betcode.holder.journal import Journal
from betcode.holder.protocol import INPUT, Frame

_BACKLOG_BYTES = 1024 * 1024  # of inputs the agent has not read yet; further input waits unacknowledged


class Inputs:
    """Accepts inputs from clients in order and writes them without waiting for the agent."""

    def __init__(
        self, journal: Journal, agent: Agent, selector: selectors.BaseSelector, note: Callable[[str], None]
    ) -> None:
        self._journal = journal
        self._agent = agent
        self._selector = selector
        self._note = note
        self._offered: deque[tuple[Client | None, Frame]] = deque()  # no client: from who started the holder
        self._unflushed: tuple[Client | None, Frame] | None = None  # in the journal's hands, but not yet on disk
        self._backlog: deque[tuple[int, memoryview]] = deque()
        self._backlog_bytes = 0
        self._watching = False
        self._eof_wanted = False
        self._pumping = False
        self.last_taken = 0
        self.last_written = 0

    def offer(self, client: Client, frame: Frame) -> None:
        """Accept an input when journal and agent can; its client gets `done` when it is on disk."""
        if self._agent.status is not None:
            client.send(b"refused %d the agent has ended\n" % frame.serial)
        elif self._eof_wanted:
            client.send(b"refused %d the agent's input is closed\n" % frame.serial)
        elif not frame.argument.isdigit():
            client.send(b"refused %d an input needs a number\n" % frame.serial)
        else:
            client.input_waits = True
            self._offered.append((client, frame))
            self.pump()

    def open_with(self, payload: bytes) -> None:
        """Write the agent's first input, which needs no acknowledgement."""
        self._offered.append((None, Frame(INPUT, 0, "1", payload)))
        self.pump()

    def close(self) -> None:
        """Send EOF to the agent, after everything already accepted."""
        self._eof_wanted = True
        self.pump()

    def abandon(self) -> None:
        """Drop waiting input, because the agent has ended."""
        for client, frame in self._offered:
            if client is not None:
                client.send(b"refused %d the agent has ended\n" % frame.serial)
        self._offered.clear()
        self._drop_backlog("the agent has ended")
        self._watch()

    def pump(self) -> None:
        """Go on as far as journal and agent allow."""
        if self._pumping:
            return  # called back by a client whose input was just accepted; the loop below continues with it
        self._pumping = True
        try:
            while self._take_one():
                self._write()
            self._write()
        finally:
            self._pumping = False

    def _take_one(self) -> bool:
        if not self._journal.has_room():
            return False
        if self._unflushed is not None:
            client, frame = self._unflushed
            self._unflushed = None
        elif self._offered and self._backlog_bytes < _BACKLOG_BYTES:
            client, frame = self._offered.popleft()
            if client is not None and client.closed:
                return True  # it disconnected without an answer, and will send this again
            number = int(frame.argument)
            if number > self.last_taken and not self._journal.record(b"in", frame.payload, number):
                self._unflushed = (client, frame)
                return False
        else:
            return False
        number = int(frame.argument)
        if number > self.last_taken:
            self.last_taken = number
            self._backlog.append((number, memoryview(frame.payload)))
            self._backlog_bytes += len(frame.payload)
        if client is not None:
            client.send(b"done %d\n" % frame.serial)
            client.input_taken()
        return True

    def _write(self) -> None:
        try:
            while self._backlog:
                number, data = self._backlog[0]
                done = self._agent.stdin.send(data) if data else 0
                self._backlog_bytes -= done
                if done < len(data):
                    self._backlog[0] = (number, data[done:])
                else:
                    self._backlog.popleft()
                    self.last_written = number
        except BlockingIOError:
            pass
        except OSError as error:
            self._drop_backlog(error.strerror or str(error))
        self._watch()
        if self._eof_wanted and not self._backlog and self._unflushed is None and not self._offered:
            self._agent.close_input()

    def _drop_backlog(self, why: str) -> None:
        if self._backlog:
            numbers = ", ".join([str(number) for number, _ in self._backlog])
            self._note(f"input {numbers} was not taken whole by the agent: {why}")
            self._backlog.clear()
            self._backlog_bytes = 0

    def _watch(self) -> None:
        if bool(self._backlog) != self._watching:
            self._watching = not self._watching
            if self._watching:
                self._selector.register(self._agent.stdin, selectors.EVENT_WRITE, lambda _events: self.pump())
            else:
                self._selector.unregister(self._agent.stdin)
