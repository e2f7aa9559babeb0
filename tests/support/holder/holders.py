"""Holders for tests: started with a scripted agent, followed with a bound, and surely gone afterwards."""

import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import anyio

from betcode.domain.runs.journal_record import Record, RecordKind
from betcode.engine.shell.holder_client import Attachment, HolderGone
from betcode.holder.journal_reader import JournalReader
from betcode.holder.launch import HolderSpec, end_leftovers, is_alive, start_holder
from support.paths import AGENTS
from support.patience import PATIENCE_S

LIMIT = 64 * 1024 * 1024


@dataclass(slots=True)
class Held:
    """A run under a holder, and what was read of its journal so far."""

    run_dir: Path
    marker: str
    pid: int
    records: list[Record] = field(default_factory=list)
    reader: JournalReader = field(init=False)

    def __post_init__(self) -> None:
        self.reader = JournalReader(self.run_dir, line_limit_bytes=LIMIT)

    def lines(self, kind: RecordKind = RecordKind.OUT) -> list[bytes]:
        return [record.data for record in self.records if record.kind is kind]

    async def follow(self, attachment: Attachment, until: Callable[[Record], bool]) -> Record:
        """Read on until a record is the wanted one."""
        looked_at = 0
        with anyio.fail_after(PATIENCE_S):
            while True:
                for record in self.records[looked_at:]:
                    if until(record):
                        return record
                looked_at = len(self.records)
                self.records += await more(self.reader, attachment)

    async def line(self, attachment: Attachment, beginning: bytes) -> bytes:
        """The first line of output that begins so."""
        found = await self.follow(attachment, lambda it: it.kind is RecordKind.OUT and it.data.startswith(beginning))
        return found.data

    async def exit(self, attachment: Attachment) -> bytes:
        """What the journal says of the agent's end."""
        return (await self.follow(attachment, lambda it: it.kind is RecordKind.EXIT)).data

    def read_rest(self) -> None:
        """Read a journal that nobody writes any more to its end."""
        self.reader.finish()
        while got := self.reader.read(LIMIT):
            self.records += got


async def more(reader: JournalReader, attachment: Attachment) -> list[Record]:
    """The next records, waiting for them."""
    while not (records := reader.read(LIMIT)):
        await attachment.grown(reader.seen)
    return records


def agent_command(name: str, *arguments: str) -> list[str]:
    """The command of a scripted agent."""
    return [sys.executable, "-I", "-S", "-u", str(AGENTS / name), *arguments]


@contextmanager
def held(
    run_dir: Path,
    argv: Sequence[str],
    *,
    env: dict[str, str] | None = None,
    cwd: Path | None = None,
    opening: bytes = b"",
) -> Iterator[Held]:
    """A run for the length of a block; whatever the test did, nothing of it is left."""
    marker = f"test-{os.getpid()}-{run_dir.parent.name}-{run_dir.name}"[-200:]
    environment = {"PATH": os.environ["PATH"], **(env or {})}
    spec = HolderSpec(
        run_dir=run_dir, argv=argv, env=environment, cwd=cwd or run_dir.parent, marker=marker, opening=opening
    )
    run = Held(run_dir, marker, start_holder(spec))
    try:
        yield run
    finally:
        with suppress(ProcessLookupError):
            os.kill(run.pid, signal.SIGKILL)
        end_leftovers(marker, 0, 0, grace_s=0)
        run.reader.close()


async def gone(pid: int) -> None:
    """Wait until a process has ended."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        with anyio.fail_after(PATIENCE_S):
            await anyio.wait_readable(handle)
    finally:
        os.close(handle)


async def lock_fallen(run: Held) -> None:
    """Wait until nobody holds the run's lock any more."""
    with anyio.fail_after(PATIENCE_S):
        while is_alive(run.run_dir):
            await anyio.lowlevel.checkpoint()


async def holder_left(attachment: Attachment) -> None:
    """Wait until the holder has closed its end."""
    with anyio.fail_after(PATIENCE_S), suppress(HolderGone):
        await attachment.grown(2**50)
