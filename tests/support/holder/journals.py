"""Journals in a directory: write lines, and read all records in every way."""

from pathlib import Path

from hypothesis import strategies as st

from betcode.domain.runs.journal_record import Record, RecordKind
from betcode.holder.journal import Journal
from betcode.holder.journal_reader import JournalReader
from betcode.holder.lines import LineRecorder

LIMIT = 64 * 1024 * 1024
lines_strategy = st.lists(st.binary(max_size=40).map(lambda line: line.replace(b"\n", b" ")), max_size=30)


def read_all(directory: Path, offset: int = 0, *, limit: int = LIMIT, finish: bool = False) -> list[Record]:
    """All records, which are the same in whatever way they are read."""
    waiting = _read_all(directory, offset, limit, finish, cached=False)
    assert _read_all(directory, offset, limit, finish, cached=True) == waiting
    return waiting


def _read_all(directory: Path, offset: int, limit: int, finish: bool, *, cached: bool) -> list[Record]:
    reader = JournalReader(directory, offset, line_limit_bytes=limit)
    if finish:
        reader.finish()
    records: list[Record] = []
    while got := (reader.read_cached(4096) if cached else None) or reader.read(4096):
        records += got
    reader.close()
    return records


def write_lines(directory: Path, lines: list[bytes], *, segment_bytes: int = 1024 * 1024, err_every: int = 0) -> int:
    journal = Journal(str(directory), segment_bytes=segment_bytes)
    out, err = LineRecorder(journal, b"out"), LineRecorder(journal, b"err")
    journal.record(b"start", b"{}")
    for index, line in enumerate(lines):
        out.feed(line + b"\n")
        if err_every and index % err_every == 0:
            err.feed(b"err %d\n" % index)
    journal.close()
    return journal.end


def outputs(records: list[Record]) -> list[bytes]:
    return [record.data for record in records if record.kind is RecordKind.OUT]
