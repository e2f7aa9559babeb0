"""Recognise streams that are opened and reset in a loop, in bytes that a client sent and the server has not read yet.

A sample begins at any byte, usually inside a frame, and a message may contain bytes that look like frames. A frame has
at most MAX_FRAME_BYTES, so one of the first offsets of a sample is a real frame header. Each of these offsets is tried.
The sample counts as a flood only if every offset from which all frames are well-formed shows a flood: the real one is
among them, so honest traffic is never mistaken for a flood, whatever its messages contain.
"""

import re
import struct
from dataclasses import dataclass
from typing import NamedTuple

MAX_FRAME_BYTES = 16_384
# Without these gRPC allows larger frames to a client that sends fast, and a sample may be the inside of a single one.
# The window is the one that gRPC would reach after its first measurement.
FRAME_OPTIONS: tuple[tuple[str, int], ...] = (
    ("grpc.http2.bdp_probe", 0),
    ("grpc.http2.max_frame_size", MAX_FRAME_BYTES),
    ("grpc.http2.lookahead_bytes", 4 * 1024 * 1024),
)

_HEADER = struct.Struct(">HBBBI")  # length in two parts, type, flags, stream
_HEADER_BYTES = 9
_FIRST_BYTES = _HEADER_BYTES + MAX_FRAME_BYTES  # a real frame header begins within them
LEAST_BYTES = _FIRST_BYTES + 4096
_LEAST_RESETS = 16
_MOST_ENTRIES = 64  # more are not followed, and the sample is inconclusive
_DATA, _HEADERS, _PRIORITY, _RESET, _SETTINGS, _PING, _GOAWAY, _WINDOW, _CONTINUATION = 0, 1, 2, 3, 4, 6, 7, 8, 9
_PRIORITY_UPDATE = 16
_ID_MASK = 2**31 - 1
# Length, type, flags and stream of a header that _frame may accept; to find them faster.
_CANDIDATE = re.compile(rb"(?=\x00[\x00-\x40][\x00-\xff][\x00-\x04\x06-\x09\x10])")
_RESET_START = b"\x00\x00\x04\x03"  # length and type


class _Frame(NamedTuple):
    kind: int
    stream: int
    end: int


@dataclass(frozen=True, slots=True)
class _Reading:
    """One way to divide a sample into frames."""

    opened: int
    resets: int
    newest: int

    @property
    def is_flood(self) -> bool:
        return self.resets >= _LEAST_RESETS and 2 * self.resets >= self.opened


def newest_reset(sample: bytes) -> int | None:
    """Return the highest id of a stream that is reset; None unless most streams in the sample are opened and reset."""
    if len(sample) < LEAST_BYTES or sample.count(_RESET_START) < _LEAST_RESETS:
        return None
    entries = _entries(sample)
    if len(entries) > _MOST_ENTRIES:
        return None
    readings = [reading for entry in entries if (reading := _read(sample, entry)) is not None]
    if not readings or not all(reading.is_flood for reading in readings):
        return None
    return min(reading.newest for reading in readings)


def _entries(sample: bytes) -> set[int]:
    """Return the offsets of the first frame header after the first bytes, for each offset at which reading may begin.

    Nothing before them is judged: a false chain of frames may join the real one, and its first part is still false.
    """
    entries: set[int] = set()
    known: set[int] = set()
    for candidate in _CANDIDATE.finditer(sample, 0, _FIRST_BYTES + 3):
        at = candidate.start()
        while at < _FIRST_BYTES and at not in known:
            known.add(at)
            frame = _frame(sample, at)
            if frame is None:
                break
            at = frame.end
        if at >= _FIRST_BYTES:
            entries.add(at)
    return entries


def _read(sample: bytes, entry: int) -> _Reading | None:
    """Count the streams that the frames from an offset to the end open and reset; None if a frame is malformed."""
    opened = resets = newest = 0
    at = entry
    while at < len(sample):
        frame = _frame(sample, at)
        if frame is None:
            return None
        opened += frame.kind == _HEADERS
        if frame.kind == _RESET:
            resets += 1
            newest = max(newest, frame.stream)
        at = frame.end
    return _Reading(opened, resets, newest)


def _frame(sample: bytes, at: int) -> _Frame | None:
    """Return the frame whose header is at an offset; None if no client may send such a frame."""
    if at + _HEADER_BYTES > len(sample):
        return _Frame(-1, 0, len(sample))  # the header is truncated, so nothing contradicts it
    high, low, kind, _, stream = _HEADER.unpack_from(sample, at)
    length = high << 8 | low
    stream &= _ID_MASK
    if length > MAX_FRAME_BYTES:
        return None
    if not _is_allowed(kind, length, stream):
        return None
    return _Frame(kind, stream, at + _HEADER_BYTES + length)


def _is_allowed(kind: int, length: int, stream: int) -> bool:
    is_of_a_call = stream % 2 == 1  # clients open streams with odd ids
    if kind in (_DATA, _HEADERS, _CONTINUATION):
        return is_of_a_call
    if kind == _RESET:
        return is_of_a_call and length == 4
    if kind == _PRIORITY:
        return is_of_a_call and length == 5
    if kind == _WINDOW:
        return length == 4 and (is_of_a_call or stream == 0)
    if stream != 0:
        return False
    if kind == _SETTINGS:
        return length % 6 == 0
    if kind == _PING:
        return length == 8
    return (kind == _GOAWAY and length >= 8) or (kind == _PRIORITY_UPDATE and length >= 4)
