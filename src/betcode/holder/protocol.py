"""The protocol between daemon and holder: framed commands in one direction, plain lines in the other.

A command is `verb serial argument length crc32\
`, its payload and a newline; an incomplete one is dropped with its connection. The holder greets with one JSON line and
answers `done SERIAL`, `refused SERIAL why` or `status SERIAL json`, or announces growth with `grew OFFSET`. The version
is incremented when something is added; a verb is never removed or changed, and an unknown one is refused without
closing the connection.
"""

from zlib import crc32

VERSION = 1
FRAME_LIMIT_BYTES = 64 * 1024 * 1024
_HEADER_LIMIT_BYTES = 256

INPUT = "input"  # argument: the number; payload: the bytes for the agent's stdin
LISTEN = "listen"  # argument: an offset; rings once when the journal's end is beyond it
EOF = "eof"  # close the agent's stdin
SIGNAL = "signal"  # argument: a name such as SIGINT; sent only to the agent
END = "end"  # argument: grace seconds; payload `idle` means that nothing is open, so that EOF may come first
QUIT = "quit"  # leave; refused while the agent lives
STATUS = "status"

REFUSED_NOTE = "refused at the socket: "  # prefix of a note about a refused connection


class BrokenFrame(Exception):
    """The bytes are not a command; nothing after them on this connection can be trusted."""


class Frame:
    """One whole command."""

    __slots__ = ("argument", "payload", "serial", "verb")

    def __init__(self, verb: str, serial: int, argument: str, payload: bytes) -> None:
        self.verb = verb
        self.serial = serial
        self.argument = argument
        self.payload = payload


def encode_frame(verb: str, serial: int, argument: str = "-", payload: bytes = b"") -> bytes:
    """The bytes of one command."""
    prefix = f"{verb} {serial} {argument}".encode("ascii")
    return b"%b %d %08x\n%b\n" % (prefix, len(payload), crc32(payload, crc32(prefix)), payload)


class FrameBuffer:
    """Collects the bytes of a connection and yields complete commands."""

    def __init__(self) -> None:
        self._bytes = bytearray()
        self._searched = 0

    def __len__(self) -> int:
        return len(self._bytes)

    def feed(self, data: bytes) -> None:
        """Add what one read gave."""
        self._bytes += data

    def next(self) -> Frame | None:
        """The next whole command, None when there is none yet.

        Raises: BrokenFrame.
        """
        if len(self._bytes) < self._searched:  # a large payload is still incomplete: no need to parse again
            return None
        newline = self._bytes.find(b"\n", 0, _HEADER_LIMIT_BYTES)
        if newline < 0:
            if len(self._bytes) >= _HEADER_LIMIT_BYTES:
                raise BrokenFrame("no header")
            return None
        try:
            prefix, length_text, checksum = bytes(self._bytes[:newline]).rsplit(b" ", 2)
            verb, serial, argument = prefix.decode("ascii").split(" ")
            length, expected, number = int(length_text), int(checksum, 16), int(serial)
        except ValueError as error:
            raise BrokenFrame("bad header") from error
        if not 0 <= length <= FRAME_LIMIT_BYTES:
            raise BrokenFrame("too long")
        start, stop = newline + 1, newline + 1 + length
        if len(self._bytes) <= stop:
            self._searched = stop + 1
            return None
        self._searched = 0
        payload = bytes(memoryview(self._bytes)[start:stop])
        if self._bytes[stop] != 0x0A or crc32(payload, crc32(prefix)) != expected:
            raise BrokenFrame("bad checksum")
        del self._bytes[: stop + 1]
        return Frame(verb, number, argument, payload)
