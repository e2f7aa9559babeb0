"""Which samples of HTTP/2 traffic show streams that are opened and reset in a loop."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from betcode.server.listeners.http2_sample import LEAST_BYTES, MAX_FRAME_BYTES, newest_reset
from support.daemon.reset_flood import call_frames, frame

DATA, HEADERS, RESET, SETTINGS, PING, WINDOW = 0, 1, 3, 4, 6, 8
METHOD = "/betcode.v1.AgentService/ListSessions"
SAMPLE_BYTES = 64 * 1024
FLOOD = b"".join(call_frames(METHOD, stream) for stream in range(1001, 3001, 2))


def reset(stream: int) -> bytes:
    return frame(RESET, 0, stream, bytes([0, 0, 0, 8]))


def message(payload: bytes, stream: int = 5) -> bytes:
    """A message as clients send it: in frames of the largest size."""
    parts = [payload[at : at + MAX_FRAME_BYTES] for at in range(0, len(payload), MAX_FRAME_BYTES)]
    return b"".join(frame(DATA, 0, stream, part) for part in parts)


def short_calls(*, reset_every: int = 0) -> bytes:
    calls = b""
    for number in range(600):
        stream = 2 * number + 1
        calls += frame(HEADERS, 4, stream, bytes(range(90))) + frame(DATA, 1, stream, b"\0\0\0\0\x14" + bytes(20))
        calls += frame(WINDOW, 0, 0, bytes([0, 0, 0, 5])) + (frame(PING, 1, 0, bytes(8)) if number % 9 == 0 else b"")
        if reset_every and number % reset_every == 0:
            calls += reset(stream)
    return calls


HONEST = {
    "many short calls": short_calls(),
    "short calls of which every third is cancelled": short_calls(reset_every=3),
    "a large message": message(random.Random(1).randbytes(300_000)),
    "a large message of zeros": message(bytes(300_000)),
    "a large message that contains a recorded flood": message(FLOOD * 3),
    "a large message of reset frames": message(reset(7) * 20_000),
    "a stream of small messages": b"".join(frame(DATA, 0, 9, bytes(120)) for _ in range(2000)),
    "resets between large messages": b"".join(message(bytes(16_000), 2 * n + 1) + reset(2 * n + 1) for n in range(40)),
    "encrypted bytes": random.Random(2).randbytes(300_000),
}


@pytest.mark.parametrize("kind", HONEST)
@pytest.mark.parametrize("cut", [0, 1, 9, 13, 777, 16_384, 16_393, 20_001])
def test_honest_traffic_is_no_flood(kind: str, cut: int) -> None:
    sample = HONEST[kind][cut : cut + SAMPLE_BYTES]
    assert len(sample) >= LEAST_BYTES
    assert newest_reset(sample) is None


def test_false_frames_that_meet_the_real_ones_are_no_flood() -> None:
    """The payload is a flood that ends exactly where the real frame ends."""
    calls = FLOOD[: MAX_FRAME_BYTES - MAX_FRAME_BYTES % 175]
    rest = MAX_FRAME_BYTES - len(calls)
    payload = calls + frame(DATA, 0, 1, bytes(rest - 9))
    assert len(payload) == MAX_FRAME_BYTES
    sample = frame(DATA, 0, 5, payload) * 4
    for cut in range(200):
        assert newest_reset(sample[cut:SAMPLE_BYTES]) is None


@given(cut=st.integers(0, 20_000), length=st.integers(LEAST_BYTES + 4096, SAMPLE_BYTES))
def test_a_flood_is_recognised_wherever_a_sample_begins_and_ends(cut: int, length: int) -> None:
    sample = FLOOD[cut : cut + length]
    newest = newest_reset(sample)
    assert newest is not None
    assert abs(newest - (1001 + 2 * ((cut + length) // 175))) <= 2


@pytest.mark.parametrize("flags", [0, 0xFF])
def test_streams_that_are_reset_without_data_are_a_flood(flags: int) -> None:
    sample = b"".join(
        frame(HEADERS, 5, stream, b"\x83\x86\xc0\xbf\xbe") + frame(RESET, flags, stream, bytes(4))
        for stream in range(1, 4001, 2)
    )
    assert newest_reset(sample[7:SAMPLE_BYTES]) is not None


def test_settings_and_pings_between_the_resets_hide_no_flood() -> None:
    sample = b"".join(
        call_frames(METHOD, stream) + frame(SETTINGS, 1, 0) + frame(PING, 1, 0, bytes(8)) for stream in range(1, 801, 2)
    )
    assert newest_reset(sample[50:SAMPLE_BYTES]) is not None


def test_a_short_sample_shows_nothing() -> None:
    assert newest_reset(FLOOD[: LEAST_BYTES - 1]) is None


PIECES = st.one_of(
    st.binary(max_size=300),
    st.integers(0, 150).map(bytes),
    st.integers(1, 60).map(lambda many: FLOOD[: 175 * many]),
    st.integers(1, 2**20).map(lambda stream: reset(2 * stream + 1)),
    st.integers(0, MAX_FRAME_BYTES).map(lambda length: frame(DATA, 0, 5, bytes(length))[:9]),
)


@given(pieces=st.lists(PIECES, min_size=1, max_size=30), cut=st.integers(0, MAX_FRAME_BYTES + 9))
def test_no_content_of_a_message_is_a_flood(pieces: list[bytes], cut: int) -> None:
    payload = b"".join(pieces) or b"\0"
    traffic = message(payload * (100_000 // len(payload) + 1))
    assert newest_reset(traffic[cut : cut + SAMPLE_BYTES]) is None
