"""Damage to a journal costs only the records that it touches, and is reported."""

import os
import re
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given
from hypothesis import strategies as st

from betcode.domain.runs.journal_record import RecordKind
from betcode.holder.journal import PART_BYTES, Journal, encode, segment_name
from betcode.holder.journal_reader import JournalReader
from betcode.holder.lines import LineRecorder
from betcode.holder.segments import segment_starts
from support.holder.journals import LIMIT, lines_strategy, outputs, read_all, write_lines


def test_a_hurt_newline_between_records_costs_none_of_them(tmp_path: Path) -> None:
    write_lines(tmp_path, [b"one", b"two", b"the last"])
    whole = read_all(tmp_path)
    path = tmp_path / segment_name(0)
    body = bytearray(path.read_bytes())
    for record in whole[:-1]:
        body[record.end - 1] = 0x61
    path.write_bytes(body)
    assert read_all(tmp_path) == whole


@given(lines=lines_strategy, data=st.data(), segment=st.sampled_from([200, 100_000]))
def test_damage_in_the_middle_costs_only_the_records_it_touches(
    lines: list[bytes], data: st.DataObject, segment: int
) -> None:
    with TemporaryDirectory() as name:
        directory = Path(name)
        write_lines(directory, [*lines, b"the last"], segment_bytes=segment)
        whole = read_all(directory)
        hurt_at = data.draw(st.integers(0, whole[-1].offset - 1))
        byte = data.draw(st.integers(0, 255))
        start = max(start for start in segment_starts(directory) if start <= hurt_at)
        path = directory / segment_name(start)
        body = bytearray(path.read_bytes())
        changed = body[hurt_at - start] != byte
        body[hurt_at - start] = byte
        path.write_bytes(body)
        read = read_all(directory)
        survivors = [record for record in read if record.kind is not RecordKind.DAMAGED]
        hurt = next(record for record in whole if record.offset <= hurt_at < record.end)
        untouched = [record for record in whole if record is not hurt]
        if changed and len(survivors) < len(whole):
            assert survivors == untouched
            lost = [record for record in read if record.kind is RecordKind.DAMAGED]
            assert [(record.offset, record.end) for record in lost] == [(hurt.offset, hurt.end)]
        else:  # a header digit that means the same, a letter's case in the checksum
            assert survivors == whole


def test_a_damaged_record_says_how_many_bytes_are_lost(tmp_path: Path) -> None:
    write_lines(tmp_path, [b"one", b"two", b"three"])
    path = tmp_path / segment_name(0)
    path.write_bytes(path.read_bytes().replace(b"two", b"tw0"))
    kinds = [record.kind for record in read_all(tmp_path)]
    assert kinds == [RecordKind.START, RecordKind.OUT, RecordKind.DAMAGED, RecordKind.OUT]
    damaged = read_all(tmp_path)[2]
    assert re.match(rb"%d bytes of the journal cannot be read" % (damaged.end - damaged.offset), damaged.data)


def test_a_cut_segment_with_another_after_it_is_reported_at_once(tmp_path: Path) -> None:
    write_lines(tmp_path, [b"x" * 100] * 10, segment_bytes=500)
    first, second, *_ = segment_starts(tmp_path)
    os.truncate(tmp_path / segment_name(first), second - first - 30)
    records = read_all(tmp_path)
    assert [record.kind for record in records].count(RecordKind.DAMAGED) == 1
    assert outputs(records) == [b"x" * 100] * 9


def test_a_missing_segment_is_reported_and_passed_over(tmp_path: Path) -> None:
    write_lines(tmp_path, [b"x" * 100] * 30, segment_bytes=500)
    starts = segment_starts(tmp_path)
    (tmp_path / segment_name(starts[1])).unlink()
    records = read_all(tmp_path)
    lost = [record for record in records if record.kind is RecordKind.DAMAGED]
    assert [(record.offset, record.end) for record in lost] == [(starts[1], starts[2])]
    assert records[-1].end == records[-2].end + (records[-1].end - records[-1].offset)


def test_a_long_line_that_lost_a_part_is_damaged_not_wrong(tmp_path: Path) -> None:
    write_lines(tmp_path, [b"q" * (4 * PART_BYTES), b"after"], segment_bytes=LIMIT)
    path = tmp_path / segment_name(0)
    body = bytearray(path.read_bytes())
    body[2 * PART_BYTES] ^= 1
    path.write_bytes(body)
    records = read_all(tmp_path)
    assert outputs(records) == [b"after"]
    assert [record.kind for record in records].count(RecordKind.DAMAGED) == 2


def test_a_line_cut_off_by_the_end_of_its_holder_is_reported(tmp_path: Path) -> None:
    journal = Journal(str(tmp_path))
    journal.record(b"start", b"{}")
    LineRecorder(journal, b"out").feed(b"q" * (PART_BYTES + 5))
    assert [record.kind for record in read_all(tmp_path)] == [RecordKind.START]
    finished = read_all(tmp_path, finish=True)
    assert finished[-1].kind is RecordKind.DAMAGED
    assert b"cut off" in finished[-1].data
    assert finished[-1].end == journal.end


def test_a_header_with_a_length_gone_wild_does_not_hide_what_follows(tmp_path: Path) -> None:
    write_lines(tmp_path, [b"one", b"two", b"three"])
    path = tmp_path / segment_name(0)
    path.write_bytes(re.sub(rb" 3 ([0-9a-f]{8})\ntwo", rb" 900 \1\ntwo", path.read_bytes()))
    assert outputs(read_all(tmp_path)) == [b"one", b"three"]


def test_damage_that_a_reader_meets_first_is_dated_by_the_file(tmp_path: Path) -> None:
    write_lines(tmp_path, [b"one", b"two"])
    whole = read_all(tmp_path)
    path = tmp_path / segment_name(0)
    os.truncate(path, whole[-1].end - 5)
    reader = JournalReader(tmp_path, whole[-2].end, line_limit_bytes=1000)
    reader.finish()
    (lost,) = reader.read(1000)
    assert lost.kind is RecordKind.DAMAGED
    assert lost.wall_ns == path.stat().st_mtime_ns


def test_much_damage_is_skipped_in_pieces_and_what_follows_is_read(tmp_path: Path) -> None:
    write_lines(tmp_path, [b"before"])
    long_line = b"a" * (PART_BYTES - 100)
    with (tmp_path / segment_name(0)).open("ab") as segment:
        segment.write(b"garbage\n" * (3 * 1024 * 1024))
        segment.write(encode(b"out", 1, 1, long_line))
        segment.write(encode(b"out", 1, 1, b"after"))
    records = read_all(tmp_path, finish=True)
    damaged = [record for record in records if record.kind is RecordKind.DAMAGED]
    assert outputs(records) == [b"before", long_line, b"after"]
    assert len(damaged) > 1, "it is not collected as a whole"
    assert sum(record.end - record.offset for record in damaged) == 24 * 1024 * 1024
