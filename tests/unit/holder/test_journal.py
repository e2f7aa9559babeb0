"""A journal gives back what was written: any chunking, any cut."""

import errno
import json
import os
import re
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from betcode.domain.runs.journal_record import Record, RecordKind
from betcode.holder.journal import PART_BYTES, Journal, encode, segment_name
from betcode.holder.journal_reader import JournalReader, compress_behind
from betcode.holder.lines import LineRecorder
from betcode.holder.segments import segment_starts
from support.holder.journals import LIMIT, lines_strategy, outputs, read_all, write_lines


@given(stream=st.binary(max_size=400), cuts=st.lists(st.integers(0, 400), max_size=20), segment=st.integers(1, 500))
def test_any_chunking_gives_the_same_lines(stream: bytes, cuts: list[int], segment: int) -> None:
    with TemporaryDirectory() as name:
        journal = Journal(name, segment_bytes=segment)
        recorder = LineRecorder(journal, b"out")
        edges = sorted({0, len(stream), *(cut for cut in cuts if cut < len(stream))})
        for start, end in pairwise(edges):
            recorder.feed(stream[start:end])
        recorder.finish()
        journal.close()
        expected = stream.split(b"\n")
        if not expected[-1]:
            expected.pop()  # nothing after the last newline is no line
        assert outputs(read_all(Path(name))) == expected


@given(lines=lines_strategy, data=st.data())
def test_a_torn_end_waits_until_the_journal_is_finished(lines: list[bytes], data: st.DataObject) -> None:
    with TemporaryDirectory() as name:
        directory = Path(name)
        end = write_lines(directory, lines)
        whole = read_all(directory)
        cut = data.draw(st.integers(0, end))
        os.truncate(directory / segment_name(0), cut)
        kept = [record for record in whole if record.end <= cut]
        assert read_all(directory) == kept
        boundary = kept[-1].end if kept else 0
        finished = read_all(directory, finish=True)
        assert finished[: len(kept)] == kept
        lost = finished[len(kept) :]
        assert [record.kind for record in lost] == ([RecordKind.DAMAGED] if cut > boundary else [])
        assert all((record.offset, record.end) == (boundary, cut) for record in lost)


def test_an_unfinished_record_is_given_once_its_rest_has_come(tmp_path: Path) -> None:
    write_lines(tmp_path, [b"one"])
    reader = JournalReader(tmp_path, line_limit_bytes=LIMIT)
    assert len(reader.read(LIMIT)) == 2
    record = encode(b"out", 1, 2, b"slow")
    for index, byte in enumerate(record):
        assert reader.read(LIMIT) == []
        with (tmp_path / segment_name(0)).open("ab") as journal:
            journal.write(bytes([byte]))
        assert reader.seen <= reader.position + index
    assert outputs(reader.read(LIMIT)) == [b"slow"]


def test_every_position_resumes_exactly_there(tmp_path: Path) -> None:
    lines = [b"%d" % number for number in range(50)]
    write_lines(tmp_path, lines, segment_bytes=300, err_every=3)
    whole = read_all(tmp_path)
    for index, record in enumerate(whole):
        assert read_all(tmp_path, record.end) == whole[index + 1 :]


def test_a_line_of_many_megabytes_is_kept_in_parts_and_read_whole(tmp_path: Path) -> None:
    line = bytes(range(11, 256)) * 20_000
    write_lines(tmp_path, [b"before", line, b"after"])
    assert max(path.stat().st_size for path in tmp_path.iterdir()) < 3 * PART_BYTES
    assert outputs(read_all(tmp_path)) == [b"before", line, b"after"]


def test_a_line_over_the_limit_gives_its_beginning_and_true_length(tmp_path: Path) -> None:
    write_lines(tmp_path, [b"y" * 3_000_000, b"z" * 1001, b"after"])
    long, less_long, after = [record for record in read_all(tmp_path, limit=1000) if record.kind is RecordKind.OUT]
    assert (long.data, long.too_long, long.number) == (b"y" * 1000, True, 3_000_000)
    assert (less_long.data, less_long.too_long, less_long.number) == (b"z" * 1000, True, 1001)
    assert (after.data, after.too_long, after.number) == (b"after", False, 0)


def test_records_between_the_parts_of_a_line_come_at_once_and_every_position_still_resumes(tmp_path: Path) -> None:
    journal = Journal(str(tmp_path), segment_bytes=1_500_000)
    out, err = LineRecorder(journal, b"out"), LineRecorder(journal, b"err")
    reader = JournalReader(tmp_path, line_limit_bytes=LIMIT)
    journal.record(b"start", b"{}")
    given_so_far: list[Record] = []
    for step in range(6):
        out.feed(b"%d" % step * 600_000)
        err.feed(b"meanwhile %d\n" % step)
        journal.record(b"in", b"and %d\n" % step, step + 1)
        given_so_far += reader.read(LIMIT)
    assert [record.kind for record in given_so_far] == [RecordKind.START, *[RecordKind.ERR, RecordKind.IN] * 6]
    out.feed(b"!\nnext\n")
    given_so_far += reader.read(LIMIT)
    line = b"".join(b"%d" % step * 600_000 for step in range(6)) + b"!"
    assert outputs(given_so_far) == [line, b"next"]
    assert [record.number for record in given_so_far if record.kind is RecordKind.IN] == [1, 2, 3, 4, 5, 6]
    for index, record in enumerate(given_so_far):
        assert read_all(tmp_path, record.end) == given_so_far[index + 1 :]


def test_output_that_looks_like_a_journal_is_only_output(tmp_path: Path) -> None:
    inner = encode(b"exit", 1, 2, b"{}")
    write_lines(tmp_path, [*inner.split(b"\n"), b"more"])
    records = read_all(tmp_path)
    assert outputs(records) == [*inner.split(b"\n"), b"more"]
    assert RecordKind.EXIT not in [record.kind for record in records]


def test_compressed_segments_read_the_same(tmp_path: Path) -> None:
    write_lines(tmp_path, [b"%d" % number * 50 for number in range(100)], segment_bytes=2000)
    whole = read_all(tmp_path)
    starts = segment_starts(tmp_path)
    reader = JournalReader(tmp_path, line_limit_bytes=LIMIT)
    begun = reader.read(500)
    assert compress_behind(tmp_path, starts[2] - 1) == 1
    assert compress_behind(tmp_path, whole[-1].end) == len(starts) - 2
    assert compress_behind(tmp_path, whole[-1].end) == 0
    assert [path.name for path in tmp_path.iterdir() if path.suffix != ".gz"] == [segment_name(starts[-1])]
    assert read_all(tmp_path) == whole
    while got := reader.read(500):
        begun += got
    assert begun == whole, "a reader already at work is not disturbed"
    assert read_all(tmp_path, whole[5].end) == whole[6:]
    assert compress_behind(tmp_path, whole[-1].end, finished=True) == 1
    assert read_all(tmp_path, finish=True) == whole


def test_a_compression_that_was_cut_off_is_done_again(tmp_path: Path) -> None:
    write_lines(tmp_path, [b"x" * 100] * 20, segment_bytes=500)
    whole = read_all(tmp_path)
    (tmp_path / (segment_name(0) + ".gz")).write_bytes(b"half")
    assert read_all(tmp_path) == whole
    compress_behind(tmp_path, whole[-1].end)
    assert read_all(tmp_path) == whole


@contextmanager
def files_no_longer_than(size: int) -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk_delays_records_and_loses_none(tmp_path: Path) -> None:
    journal = Journal(str(tmp_path), segment_bytes=500)
    journal.record(b"start", b"{}")
    for number in range(40):
        with files_no_longer_than(number * 10):
            journal.record(b"out", b"line %d" % number)
            if not journal.has_room():
                assert journal.blocked == "File too large"
                assert not journal.retry()
                assert len(read_all(tmp_path)) < number + 2
        if number % 3 == 0:
            assert journal.retry()
            assert journal.end == journal.next_offset
    assert journal.retry()
    assert outputs(read_all(tmp_path)) == [b"line %d" % number for number in range(40)]
    assert len(segment_starts(tmp_path)) > 3


def test_a_journal_can_be_read_by_eye(tmp_path: Path) -> None:
    journal = Journal(str(tmp_path))
    journal.append(encode(b"in", 5, 6, json.dumps({"type": "user"}).encode() + b"\n", 7))
    text = (tmp_path / segment_name(0)).read_text()
    assert re.fullmatch(r'in 5 6 7 17 [0-9a-f]{8}\n\{"type": "user"\}\n\n', text)


def test_a_run_directory_is_used_once(tmp_path: Path) -> None:
    Journal(str(tmp_path)).close()
    with pytest.raises(FileExistsError):
        Journal(str(tmp_path))


def test_a_cached_read_opens_and_lists_no_file_and_says_when_one_is_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = Journal(str(tmp_path), segment_bytes=500)
    recorder = LineRecorder(journal, b"out")
    reader = JournalReader(tmp_path, line_limit_bytes=LIMIT)
    assert reader.read_cached(4096) is None, "no segment is open"
    assert reader.read(4096) == []
    recorder.feed(b"one\n")
    assert outputs(reader.read(4096)) == [b"one"]
    for name in ("open", "listdir", "lstat", "stat"):
        monkeypatch.setattr(os, name, None)
    recorder.feed(b"two\n")
    assert outputs(reader.read_cached(4096) or []) == [b"two"]
    assert reader.read_cached(4096) is None, "the next segment may exist"
    monkeypatch.undo()
    recorder.feed(b"x" * 500 + b"\n")
    recorder.feed(b"of the next segment\n")
    assert outputs(reader.read_cached(4096) or []) == [b"x" * 500]
    assert reader.read_cached(4096) is None
    assert outputs(reader.read(4096)) == [b"of the next segment"]
    reader.close()


def test_a_cached_read_of_bytes_that_are_only_on_the_disk_is_left_to_a_thread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def on_the_disk(*_: object) -> int:
        raise BlockingIOError

    journal = Journal(str(tmp_path))
    recorder = LineRecorder(journal, b"out")
    recorder.feed(b"one\n")
    reader = JournalReader(tmp_path, line_limit_bytes=LIMIT)
    reader.read(4096)
    recorder.feed(b"two\n")
    monkeypatch.setattr(os, "preadv", on_the_disk)
    assert reader.read_cached(4096) is None
    assert outputs(reader.read(4096)) == [b"two"]
    reader.close()


def test_a_file_system_without_cached_reads_is_read_as_usual(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unsupported(*_: object) -> int:
        raise OSError(errno.EOPNOTSUPP, "Operation not supported")

    journal = Journal(str(tmp_path))
    recorder = LineRecorder(journal, b"out")
    recorder.feed(b"one\n")
    reader = JournalReader(tmp_path, line_limit_bytes=LIMIT)
    reader.read(4096)
    recorder.feed(b"two\n")
    monkeypatch.setattr(os, "preadv", unsupported)
    assert outputs(reader.read_cached(4096) or []) == [b"two"]
    reader.close()
