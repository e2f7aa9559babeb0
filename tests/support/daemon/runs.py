"""What the runs of a daemon left on disk: who ran, and every line that went in and out."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio

from betcode.domain.runs.journal_record import Record, RecordKind
from betcode.holder.journal_reader import JournalReader
from betcode.holder.launch import is_alive
from betcode.holder.platform import RUN_MARKER
from support.patience import PATIENCE_S

_SLICE_BYTES = 4 * 1024 * 1024
_LINE_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class RunOnDisk:
    directory: Path

    def records(self) -> list[Record]:
        """The whole journal, from its beginning."""
        reader = JournalReader(self.directory, 0, line_limit_bytes=_LINE_BYTES)
        if not is_alive(self.directory):
            reader.finish()
        records: list[Record] = []
        while more := reader.read(_SLICE_BYTES):
            records += more
        return records

    def lines(self, kind: RecordKind) -> list[bytes]:
        return [record.data for record in self.records() if record.kind is kind]

    @property
    def agent_pid(self) -> int:
        start = next(record for record in self.records() if record.kind is RecordKind.START)
        return int(json.loads(start.data)["pid"])

    @property
    def alive(self) -> bool:
        """Whether its holder lives."""
        return is_alive(self.directory)


def runs_in(directory: Path) -> list[RunOnDisk]:
    """All runs, oldest first."""
    return [RunOnDisk(path) for path in sorted(directory.iterdir())] if directory.exists() else []


def lives(pid: int) -> bool:
    """Whether the process is there and not only a zombie."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rsplit(")", 1)[1].split()[0] not in ("Z", "X") and pid != os.getpid()


async def gone(pid: int) -> None:
    """Wait until the process is gone."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        with anyio.move_on_after(PATIENCE_S):
            await anyio.wait_readable(descriptor)
    finally:
        os.close(descriptor)
    assert not lives(pid), f"process {pid} is still there after {PATIENCE_S:g} s"


@contextmanager
def process_of(run_id: str) -> Iterator["subprocess.Popen[bytes]"]:
    """A process that belongs to a run, as a tool does; it ends with the block."""
    waiting = [sys.executable, "-c", "import sys; print('here', flush=True); sys.stdin.read()"]
    with subprocess.Popen(waiting, env={RUN_MARKER: run_id}, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as running:
        assert running.stdout is not None
        running.stdout.readline()
        try:
            yield running
        finally:
            running.kill()
