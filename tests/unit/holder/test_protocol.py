"""Commands come out whole or not at all."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from betcode.holder.protocol import FRAME_LIMIT_BYTES, BrokenFrame, Frame, FrameBuffer, encode_frame

words = st.text("abcdefghijklmnop0123456789.", min_size=1, max_size=8)
commands = st.tuples(words, st.integers(0, 2**40), words, st.binary(max_size=60))


def as_tuple(frame: Frame) -> tuple[str, int, str, bytes]:
    return frame.verb, frame.serial, frame.argument, frame.payload


def whole_frames(buffer: FrameBuffer) -> list[tuple[str, int, str, bytes]]:
    found = []
    while (frame := buffer.next()) is not None:
        found.append(as_tuple(frame))
    return found


@given(sent=st.lists(commands, max_size=8), size=st.integers(1, 50))
def test_any_chunking_gives_the_same_commands(sent: list[tuple[str, int, str, bytes]], size: int) -> None:
    stream = b"".join(encode_frame(*command) for command in sent)
    buffer = FrameBuffer()
    received = []
    for start in range(0, len(stream), size):
        buffer.feed(stream[start : start + size])
        received += whole_frames(buffer)
    assert received == sent
    assert len(buffer) == 0


@given(command=commands, data=st.data())
def test_half_a_command_is_none(command: tuple[str, int, str, bytes], data: st.DataObject) -> None:
    stream = encode_frame(*command)
    buffer = FrameBuffer()
    buffer.feed(stream[: data.draw(st.integers(0, len(stream) - 1))])
    assert buffer.next() is None


@given(command=commands, data=st.data())
def test_a_changed_payload_is_refused(command: tuple[str, int, str, bytes], data: st.DataObject) -> None:
    verb, serial, argument, payload = command
    stream = bytearray(encode_frame(verb, serial, argument, payload + b"!"))
    at = data.draw(st.integers(len(stream) - 2 - len(payload), len(stream) - 1))
    stream[at] ^= data.draw(st.integers(1, 255))
    buffer = FrameBuffer()
    buffer.feed(bytes(stream))
    with pytest.raises(BrokenFrame):
        buffer.next()


@pytest.mark.parametrize(
    "junk",
    [
        b"\n",
        b"GET / HTTP/1.1\r\n",
        b"x" * 300,
        b"input 1 2 -5 00000000\n",
        b"input 1 2 %d 0\n" % (FRAME_LIMIT_BYTES + 1),
    ],
)
def test_what_is_no_command_ends_the_conversation(junk: bytes) -> None:
    buffer = FrameBuffer()
    buffer.feed(junk)
    with pytest.raises(BrokenFrame):
        buffer.next()
