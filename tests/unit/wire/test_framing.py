"""Lines out of bytes in any pieces."""

import tracemalloc

from hypothesis import given
from hypothesis import strategies as st

from betcode.wire import LineFramer, TooLong
from betcode.wire.line_framer import Line


def frame(data: bytes, sizes: list[int], limit: int = 64) -> list[Line]:
    framer = LineFramer(limit)
    lines: list[Line] = []
    place = 0
    for size in sizes:
        lines += framer.feed(data[place : place + size])
        place += size
    lines += framer.feed(data[place:])
    return lines + framer.finish()


@given(st.binary(max_size=600).map(lambda data: data.replace(b"a", b"\n")), st.lists(st.integers(1, 40), max_size=40))
def test_how_a_stream_is_chunked_makes_no_difference(data: bytes, sizes: list[int]) -> None:
    assert frame(data, sizes) == frame(data, [])


@given(st.lists(st.binary(max_size=64).map(lambda line: line.replace(b"\n", b"")), max_size=20))
def test_lines_come_out_as_they_went_in(lines: list[bytes]) -> None:
    data = b"".join(line + b"\n" for line in lines)
    assert frame(data, [1] * len(data)) == lines


@given(st.integers(65, 300), st.lists(st.integers(1, 40), max_size=20))
def test_a_line_over_the_limit_is_reported_and_skipped_to_its_end(length: int, sizes: list[int]) -> None:
    first, long, last = frame(b"a\n" + b"x" * length + b"\nb\n", sizes)
    assert (first, last) == (b"a", b"b")
    assert long == TooLong(b"x" * 64, length)


def test_a_last_line_without_a_newline_is_a_line() -> None:
    assert frame(b"a\nb", []) == [b"a", b"b"]
    assert LineFramer(8).finish() == []


def test_an_endless_line_takes_no_more_memory_than_the_limit() -> None:
    framer = LineFramer(limit_bytes=100_000)
    chunk = b"x" * 50_000
    tracemalloc.start()
    try:
        for _ in range(400):
            assert framer.feed(chunk) == []
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 1_000_000
    [line] = framer.feed(b"\n")
    assert isinstance(line, TooLong)
    assert line.size_bytes == 20_000_000
    assert framer.feed(b"next\n") == [b"next"]
