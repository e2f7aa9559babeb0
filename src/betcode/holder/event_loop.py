"""The holder's event loop: one thread between the agent's pipes, the journal and the clients."""

import json
import os
import selectors
import signal
import socket
import sys
import time

from betcode.holder import protocol
from betcode.holder.agent import Agent
from betcode.holder.clients import Client, ClientSocket
from betcode.holder.inputs import Inputs
from betcode.holder.journal import Journal
from betcode.holder.outputs import Outputs
from betcode.holder.terminate import GONE, RUNNING, Ending

_RETRY_S = 0.5
_DRAIN_S = 2.0
_LINGER_S = 5.0
_TERM_GRACE_S = 5.0


class Holder:
    """Holds one agent from its start until its end is on disk."""

    def __init__(self, journal: Journal, listener: socket.socket, agent: Agent) -> None:
        self._journal = journal
        self._agent = agent
        self._selector = selectors.DefaultSelector()
        self._server = ClientSocket(listener, self._selector, self._hello, self._handle, self._note_refusal)
        self._inputs = Inputs(journal, agent, self._selector, self._note)
        self._outputs = Outputs(journal, agent, self._selector)
        self._ending = Ending(agent, self._inputs.close, self._note)
        self._rung_at = 0
        self._retry_at: float | None = None
        self._drain_until: float | None = None
        self._leave_at: float | None = None
        self._exit: dict[str, object] | None = None
        self._exit_recorded = False
        self._exit_on_disk = False
        self._wakeup = _catch_signals()
        self._selector.register(self._wakeup, selectors.EVENT_READ, self._signalled)
        self._outputs.watch()

    def open_with(self, payload: bytes) -> None:
        """Give the agent its first input, number 1, before anyone can connect."""
        self._inputs.open_with(payload)

    def run(self) -> None:
        """Run until the agent's end is recorded and the holder is no longer needed."""
        self._reap()  # it may have ended before its end could be signalled
        while not self._on_time(time.monotonic()):
            if self._journal.end > self._rung_at:  # also by input that had waited
                self._ring()
            for key, events in self._selector.select(self._timeout()):
                key.data(events)
        self._server.remove()

    def _timeout(self) -> float | None:
        due = [at for at in (self._retry_at, self._ending.due, self._drain_until, self._leave_at) if at is not None]
        return max(0.0, min(due) - time.monotonic()) if due else None

    def _on_time(self, now: float) -> bool:
        """Do what is due; True when it is time to exit."""
        if not self._journal.has_room():
            self._wait_for_room(now)
        if self._ending.due is not None and now >= self._ending.due:
            self._reap()
            self._ending.step(now)
        if self._ending.stage != GONE:
            return False
        if not self._exit_on_disk:
            self._finish(now)
        return self._exit_on_disk and (
            not self._server.clients or (self._leave_at is not None and now >= self._leave_at)
        )

    def _wait_for_room(self, now: float) -> None:
        if self._retry_at is None:
            self._retry_at = now + _RETRY_S
            self._outputs.watch()
        elif now >= self._retry_at:
            if self._journal.retry():
                self._retry_at = None
                self._outputs.watch()
                self._inputs.pump()
            else:
                self._retry_at = now + _RETRY_S

    def _finish(self, now: float) -> None:
        """Drain the pipes, then record how the agent ended, because no process is alive."""
        if not self._journal.has_room():
            self._drain_until = None
            return
        if not self._outputs.ended:
            # Somebody outside the tree may hold the other end: wait for EOF, but not for ever.
            self._drain_until = self._drain_until or now + _DRAIN_S
            if now < self._drain_until:
                return
            self._outputs.cut()
        self._drain_until = None
        if self._journal.has_room() and not self._exit_recorded:
            self._exit_recorded = True
            self._journal.record(b"exit", json.dumps(self._exit).encode())
        if self._journal.has_room():
            self._journal.sync()
            self._exit_on_disk = True
            self._leave_at = now + _LINGER_S
            self._ring()

    def _reap(self) -> None:
        """Collect every child that has ended; a subreaper also collects orphans."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid == self._agent.pid:
                self._agent.status = status
                self._exit = self._describe_end(status)
                self._inputs.abandon()
                self._ending.agent_left(time.monotonic())

    def _describe_end(self, status: int) -> dict[str, object]:
        failure = self._agent.start_failure()
        code = os.waitstatus_to_exitcode(status)
        return {
            "code": code if code >= 0 and failure is None else None,
            "signal": _signal_name(-code) if code < 0 else None,
            "asked": self._ending.stage != RUNNING,
            "errno": failure[0] if failure else None,
            "error": failure[1] if failure else None,
        }

    def _signalled(self, _events: int) -> None:
        try:
            numbers = self._wakeup.recv(4096)
        except BlockingIOError:
            return
        self._reap()
        if signal.SIGTERM in numbers:
            self._ending.begin(_TERM_GRACE_S, idle=False, now=time.monotonic())
        if signal.SIGUSR1 in numbers:
            try:
                self._server.open_again()
            except OSError as error:
                sys.stderr.write(f"cannot bind the socket again: {error}\n")

    def _note(self, text: str) -> None:
        self._journal.record(b"note", text.encode())

    def _note_refusal(self, who: str) -> None:
        if not self._exit_recorded:  # nothing follows it
            self._note(f"{protocol.REFUSED_NOTE}{who}")

    def _ring(self) -> None:
        self._rung_at = end = self._journal.end
        for client in self._server.clients:
            beyond = client.listens_beyond
            if beyond is not None and end > beyond:
                client.listens_beyond = None
                client.send(b"grew %d\n" % end)

    def _state(self) -> dict[str, object]:
        return {
            "protocol": protocol.VERSION,
            "holder_pid": os.getpid(),
            "agent_pid": self._agent.pid,
            "agent_start": self._agent.start_time,
            "last_input": self._inputs.last_taken,
            "last_written": self._inputs.last_written,
            "journal_end": self._journal.end,
            "exit": self._exit if self._exit_on_disk else None,
            "blocked": self._journal.blocked,
        }

    def _hello(self) -> bytes:
        return json.dumps(self._state()).encode() + b"\n"

    def _handle(self, client: Client, frame: protocol.Frame) -> None:
        if frame.verb == protocol.LISTEN:
            client.listens_beyond = int(_number(frame))
            if self._journal.end > client.listens_beyond:
                self._ring()
            return
        if frame.verb == protocol.INPUT:
            self._inputs.offer(client, frame)
            return
        if frame.verb == protocol.STATUS:
            client.send(b"status %d %b\n" % (frame.serial, json.dumps(self._state()).encode()))
            return
        refusal = self._obey(frame)
        client.send(b"refused %d %b\n" % (frame.serial, refusal.encode()) if refusal else b"done %d\n" % frame.serial)

    def _obey(self, frame: protocol.Frame) -> str | None:
        """Do a command; why not, if it cannot be done."""
        if frame.verb == protocol.QUIT:
            if not self._exit_on_disk:
                return "the agent has not ended"
            self._leave_at = 0.0
            return None
        if frame.verb not in (protocol.EOF, protocol.SIGNAL, protocol.END):
            return f"unknown verb {frame.verb}"
        if self._agent.status is not None:
            return "the agent has ended"
        if frame.verb == protocol.EOF:
            self._inputs.close()
        elif frame.verb == protocol.END:
            self._ending.begin(_number(frame), idle=frame.payload == b"idle", now=time.monotonic())
        else:
            number = getattr(signal, frame.argument, None)
            if not isinstance(number, signal.Signals):
                return f"unknown signal {frame.argument}"
            os.kill(self._agent.pid, number)
        return None


def _number(frame: protocol.Frame) -> float:
    try:
        number = float(frame.argument)
    except ValueError:
        number = -1.0
    if not 0 <= number < 2**60:
        raise protocol.BrokenFrame(f"{frame.verb} needs a number")
    return number


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # the real-time signals have no names
        return str(number)


def _catch_signals() -> socket.socket:
    """Return a socket that becomes readable when a signal arrives; each byte is a number."""
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    theirs.setblocking(False)
    signal.set_wakeup_fd(theirs.detach(), warn_on_full_buffer=False)
    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGUSR1):
        signal.signal(number, lambda _number, _frame: None)
    for number in (signal.SIGHUP, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    return ours
