"""The transcript file: one line of JSON per record, on disk before anything depends on it."""

import fcntl
import os
import re
import stat
from pathlib import Path

import msgspec

from betcode.agents.openai.records import Record

_FIRST = b'{"type":"'
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,120}")


class UnknownConversation(Exception):
    """There is no transcript under this id."""


class DamagedTranscript(Exception):
    """It cannot be opened, or a line that is not the last cannot be read, or none is there that is a line."""


class TakenTranscript(Exception):
    """Another process writes it."""


class Transcript:
    """One conversation; `records` is all of it."""

    def __init__(self, descriptor: int, records: list[Record]) -> None:
        self._descriptor = descriptor
        self.records = records

    def append(self, record: Record) -> None:
        """Returns when it is on disk.

        Raises:
            OSError: and the file is as it was, so that the line may be tried again.
        """
        line = msgspec.json.encode(record) + b"\n"
        before = os.lseek(self._descriptor, 0, os.SEEK_END)
        try:
            written = 0
            while written < len(line):
                written += os.write(self._descriptor, line[written:])
            os.fsync(self._descriptor)
        except OSError:
            os.ftruncate(self._descriptor, before)
            raise
        self.records.append(record)

    def close(self) -> None:
        os.close(self._descriptor)


def create(directory: Path, conversation_id: str) -> Transcript:
    """Create a conversation, in a private file.

    Raises:
        FileExistsError
    """
    return Transcript(_opened(directory, conversation_id, os.O_CREAT | os.O_EXCL), [])


def resume(directory: Path, conversation_id: str) -> Transcript:
    """Return the stored conversation; an incomplete last line is ignored.

    Raises:
        UnknownConversation, DamagedTranscript, TakenTranscript
    """
    try:
        descriptor = _opened(directory, conversation_id, 0)
    except FileNotFoundError:
        raise UnknownConversation(conversation_id) from None
    try:
        data = _read(descriptor)
        whole = data.rfind(b"\n") + 1
        records = read(data[:whole])
        if not whole and data and not _FIRST.startswith(data[: len(_FIRST)]):
            raise DamagedTranscript("it is not a transcript of betcode")  # and not a first line that was cut
        if whole < len(data):
            os.ftruncate(descriptor, whole)
            os.fsync(descriptor)
    except BaseException:
        os.close(descriptor)
        raise
    return Transcript(descriptor, records)


def read(lines: bytes) -> list[Record]:
    """Raises DamagedTranscript."""
    decoder = msgspec.json.Decoder(Record)
    records: list[Record] = []
    for number, line in enumerate(lines.splitlines(), 1):
        try:
            records.append(decoder.decode(line))
        except msgspec.DecodeError as error:
            raise DamagedTranscript(f"line {number}: {error}") from None
    return records


def _opened(directory: Path, conversation_id: str, flags: int) -> int:
    if not _NAME.fullmatch(conversation_id):
        raise UnknownConversation(conversation_id)
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = directory / f"{conversation_id}.jsonl"
    always = os.O_RDWR | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        descriptor = os.open(path, always | flags, 0o600)
    except (FileExistsError, FileNotFoundError):
        raise
    except OSError as error:
        raise DamagedTranscript(f"it cannot be opened: {error.strerror}") from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise DamagedTranscript("it is not a regular file")
    try:
        # Two who wrote it would each be right, and the file would be wrong.
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if flags & os.O_CREAT:
            _sync_directory(directory)
    except BlockingIOError:
        os.close(descriptor)
        raise TakenTranscript(conversation_id) from None
    return descriptor


def _sync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _read(descriptor: int) -> bytes:
    with os.fdopen(os.dup(descriptor), "rb") as file:
        return file.read()
