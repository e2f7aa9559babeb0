"""The holder's socket: authorizes clients, reads their commands, and never waits for a slow reader."""

# pathlib and contextlib would make the holder slower to start and larger.
# ruff: noqa: PTH101, PTH104, PTH108, SIM105

import os
import selectors
import socket
import sys
import time
from collections.abc import Callable

from betcode.holder.lineage import Restraint, lineage
from betcode.holder.platform import descends_from, peer_of
from betcode.holder.protocol import FRAME_LIMIT_BYTES, INPUT, BrokenFrame, Frame, FrameBuffer

_MOST_CLIENTS = 128
_MOST_UNSENT_BYTES = 64 * 1024
_MOST_UNREAD_BYTES = FRAME_LIMIT_BYTES + 32 * 1024 * 1024  # half-read commands of all clients together
_READ_BYTES = 256 * 1024
_BACKLOG = 512

Handler = Callable[["Client", Frame], None]


class Client:
    """One connection. An error on it closes it, and affects nothing else."""

    def __init__(
        self,
        connection: socket.socket,
        selector: selectors.BaseSelector,
        handle: Handler,
        crowded: Callable[[], None],
    ) -> None:
        self._connection = connection
        self._selector = selector
        self._handle = handle
        self._crowded = crowded
        self._buffer = FrameBuffer()
        self._unsent = bytearray()
        self._interest = selectors.EVENT_READ
        self._held: Frame | None = None  # a second input, while the first waits
        self.input_waits = False
        self.listens_beyond: int | None = None
        self.closed = False
        self.proven = False  # has sent a whole command
        self.active = time.monotonic()
        connection.setblocking(False)
        selector.register(connection, selectors.EVENT_READ, self._ready)

    @property
    def unread_bytes(self) -> int:
        """Return the number of bytes of an incomplete command."""
        return len(self._buffer)

    def send(self, line: bytes) -> None:
        """Send a line when possible; a client that does not read its answers is dropped."""
        if self.closed:
            return
        self._unsent += line
        self._flush()
        if len(self._unsent) > _MOST_UNSENT_BYTES:
            self.close()

    def input_taken(self) -> None:
        """Continue with later commands, because the waiting input was accepted."""
        self.input_waits = False
        if self._held is not None and not self.closed:
            frame, self._held = self._held, None
            self._watch()
            self._guard(lambda: self._handle(self, frame))
            self._guard(self._handle_whole)

    def close(self) -> None:
        """End the connection."""
        if not self.closed:
            self.closed = True
            if self._interest:
                self._selector.unregister(self._connection)
            self._connection.close()
            self._buffer = FrameBuffer()
            self._held = None

    def _ready(self, events: int) -> None:
        if events & selectors.EVENT_WRITE and not self.closed:
            self._guard(self._flush)
        if events & selectors.EVENT_READ and not self.closed:
            self._guard(self._receive)

    def _guard(self, action: Callable[[], None]) -> None:
        try:
            action()
        except BlockingIOError:
            pass
        except (OSError, BrokenFrame):
            self.close()
        except Exception as error:  # noqa: BLE001 (a fault of ours here must not reach the agent's side)
            sys.excepthook(type(error), error, error.__traceback__)
            self.close()

    def _receive(self) -> None:
        data = self._connection.recv(_READ_BYTES)
        if not data:
            self.close()
            return
        self._buffer.feed(data)
        self._handle_whole()
        if len(self._buffer) > _READ_BYTES:
            self._crowded()

    def _handle_whole(self) -> None:
        while not self.closed and self._held is None:
            frame = self._buffer.next()
            if frame is None:
                return
            self.proven, self.active = True, time.monotonic()
            if frame.verb == INPUT and self.input_waits:
                self._held = frame  # read no further: this is how a client that does not wait is made to
                self._watch()
            else:
                self._handle(self, frame)

    def _flush(self) -> None:
        if self._unsent:
            try:
                del self._unsent[: self._connection.send(self._unsent)]
            except BlockingIOError:
                pass
            except OSError:
                self.close()
                return
        self._watch()

    def _watch(self) -> None:
        wanted = (0 if self._held else selectors.EVENT_READ) | (selectors.EVENT_WRITE if self._unsent else 0)
        if wanted == self._interest or self.closed:
            return
        if not self._interest:
            self._selector.register(self._connection, wanted, self._ready)
        elif not wanted:
            self._selector.unregister(self._connection)
        else:
            self._selector.modify(self._connection, wanted, self._ready)
        self._interest = wanted


def listen() -> socket.socket:
    """The run's socket, bound by a short name in the working directory. Raises: OSError."""
    listener = socket.socket(socket.AF_UNIX)
    try:
        # Bound under a temporary name and renamed, so that there is always a socket to connect to.
        _unlink("socket.new")
        listener.bind("socket.new")
        os.chmod("socket.new", 0o600)
        listener.listen(_BACKLOG)
        listener.setblocking(False)
        try:
            os.rename("socket.new", "socket")
        except IsADirectoryError:  # another process created that name; files that we did not create are not deleted
            os.rename("socket", f"socket.moved-{time.time_ns()}")
            os.rename("socket.new", "socket")
    except OSError:
        listener.close()
        raise
    return listener


class ClientSocket:
    """The listening socket and its connections. The working directory is the run's."""

    def __init__(
        self,
        listener: socket.socket,
        selector: selectors.BaseSelector,
        greet: Callable[[], bytes],
        handle: Handler,
        refused: Callable[[str], None],
    ) -> None:
        self._selector = selector
        self._greet = greet
        self._handle = handle
        self._refused = refused
        self._restraint = Restraint()
        self._listener = listener
        self._clients: list[Client] = []
        selector.register(listener, selectors.EVENT_READ, self._accept)

    def open_again(self) -> None:
        """Bind again if the socket was removed; existing connections are not affected. Raises: OSError."""
        listener = listen()
        self._selector.unregister(self._listener)
        self._listener.close()
        self._listener = listener
        self._selector.register(listener, selectors.EVENT_READ, self._accept)

    @property
    def clients(self) -> list[Client]:
        """Everybody who is still there."""
        if any(client.closed for client in self._clients):
            self._clients = [client for client in self._clients if not client.closed]
        return self._clients

    def remove(self) -> None:
        """Take the socket's name away; connections end with the process."""
        _unlink("socket")

    def _drop_hoarders(self) -> None:
        """Drop who keeps the most half-sent bytes, when all of it together is too much."""
        clients = self.clients
        if sum(client.unread_bytes for client in clients) > _MOST_UNREAD_BYTES:
            max(clients, key=lambda client: client.unread_bytes).close()

    def _accept(self, _events: int) -> None:
        for _ in range(64):
            try:
                connection, _address = self._listener.accept()
            except BlockingIOError:
                return
            except OSError:  # no free descriptor, or the caller has disconnected
                self._make_room()
                return
            self._admit(connection)

    def _admit(self, connection: socket.socket) -> None:
        reason = _why_not(connection)
        try:
            if reason is not None:
                self._tell_of_refusal(connection)
                connection.setblocking(False)
                connection.send(b'{"refused": "%b"}\n' % reason)
                connection.close()
                return
            if len(self.clients) >= _MOST_CLIENTS:
                self._make_room()
            client = Client(connection, self._selector, self._handle, self._drop_hoarders)
        except OSError:
            connection.close()
            return
        self._clients.append(client)
        client.send(self._greet())

    def _tell_of_refusal(self, connection: socket.socket) -> None:
        """Record the refused process now: a moment later it may have ended."""
        held = self._restraint.passes()
        if held is not None:
            pid, uid = peer_of(connection) or (0, -1)
            more = f"; {held} more before" if held else ""
            self._refused(f"{lineage(pid, ancestors=True)}, uid {uid}{more}")

    def _make_room(self) -> None:
        """Drop the connection that is least likely to be a working daemon: one without a complete command, or idle the
        longest.
        """
        clients = self.clients
        if clients:
            min(clients, key=lambda client: (client.proven, client.active)).close()


def _why_not(connection: socket.socket) -> bytes | None:
    peer = peer_of(connection)
    if peer is None:
        return b"the system does not say who you are"
    pid, uid = peer
    if uid not in (os.geteuid(), 0):
        return b"another user"
    if descends_from(pid, (os.getpid(),)):
        return b"an agent's own processes may not talk to its holder"
    return None


def _unlink(name: str) -> None:
    try:
        os.unlink(name)
    except OSError:
        pass
