"""The history of sent messages, in a file that several screens share."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from betcode.tui.private_files import locked, read_bounded, write_private

LIMIT = 1000  # messages
_LONGEST = 32 * 1024  # characters; longer messages are not stored, since part of one would be a different message
_FILE_BYTES = 4 * 1024 * 1024
_SLACK = 200  # excess messages before the file is rewritten


@dataclass(frozen=True, slots=True)
class SentMessage:
    """A message, and the directory of its session."""

    text: str
    directory: str


class HistoryFile:
    """One line of JSON per message, newest last; invalid lines are skipped."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> list[SentMessage]:
        """Return the messages, oldest first; none if the file cannot be read."""
        data = read_bounded(self._path, _FILE_BYTES * 2)
        return list(_parsed(data or b""))[-LIMIT:]

    def add(self, sent: SentMessage) -> None:
        """Add a message; messages that another screen adds at the same time are not lost.

        Raises:
            OSError: the file cannot be written.
        """
        if not sent.text.strip() or len(sent.text) > _LONGEST:
            return
        with locked(self._path.with_suffix(".lock")):
            data = read_bounded(self._path, _FILE_BYTES * 2) or b""
            if data and not data.endswith(b"\n"):
                data += b"\n"  # a process was killed while it wrote a line
            data += _line(sent)
            if data.count(b"\n") > LIMIT + _SLACK or len(data) > _FILE_BYTES:
                data = _bounded(list(_parsed(data))[-LIMIT:])
            write_private(self._path, data)


class HistoryWalk:
    """Moves to older and newer messages; after the newest, the unfinished draft returns."""

    def __init__(self, sent: Iterable[SentMessage], directory: str) -> None:
        self._all = in_order(sent, directory)
        self._texts = self._all  # without texts that equal the draft
        self._at = -1  # -1: the draft
        self._draft = ""

    @property
    def is_at_draft(self) -> bool:
        return self._at < 0

    def older(self, shown: str) -> str | None:
        """Return the next older message; None at the end. `shown` is the current text."""
        self._changed(shown)
        if self.is_at_draft:
            self._draft, self._texts = shown, [text for text in self._all if text != shown]
        if self._at + 1 == len(self._texts):
            return None
        self._at += 1
        return self._texts[self._at]

    def newer(self, shown: str) -> str | None:
        """Return the next newer message or the draft; None if the draft is already shown."""
        self._changed(shown)
        if self._at < 0:
            return None
        self._at -= 1
        return self._texts[self._at] if self._at >= 0 else self._draft

    def _changed(self, shown: str) -> None:
        """Treat an edited older message as the draft."""
        if not self.is_at_draft and self._texts[self._at] != shown:
            self._at, self._draft = -1, shown


def in_order(sent: Iterable[SentMessage], directory: str) -> Sequence[str]:
    """Return each text once, newest first, those of this directory before all others."""
    newest_first = list(sent)[::-1]
    here = [one.text for one in newest_first if one.directory == directory]
    elsewhere = [one.text for one in newest_first if one.directory != directory]
    return list(dict.fromkeys((*here, *elsewhere)))


def _line(sent: SentMessage) -> bytes:
    return json.dumps({"text": sent.text, "directory": sent.directory}).encode() + b"\n"


def _bounded(sent: Sequence[SentMessage]) -> bytes:
    """Return as many of the newest messages as fill half of the file."""
    lines: list[bytes] = []
    available = _FILE_BYTES // 2
    for line in map(_line, reversed(sent)):
        available -= len(line)
        if available < 0:
            break
        lines.append(line)
    return b"".join(reversed(lines))


def _parsed(data: bytes) -> Iterator[SentMessage]:
    for line in data.splitlines():
        try:
            facts = json.loads(line)
        except ValueError:
            continue
        if isinstance(facts, dict):
            text, directory = facts.get("text"), facts.get("directory")
            if isinstance(text, str) and isinstance(directory, str):
                yield SentMessage(text, directory)
