"""Reads recordings: the rows of one agent process, from a file or from a run's journal."""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

_JOURNAL_SLICE_BYTES = 4 * 1024 * 1024
_JOURNAL_LINE_BYTES = 64 * 1024 * 1024


class Direction(StrEnum):
    """The source or destination of a recorded line; other rows of a recording are ignored."""

    IN = "in"
    OUT = "out"
    ERR = "err"
    EXIT = "exit"


_DIRECTIONS = frozenset(direction.value for direction in Direction)


@dataclass(frozen=True, slots=True)
class Row:
    at_s: float
    direction: Direction
    line: str
    frame: dict[str, Any] | None  # the line as JSON, if it is an object

    @property
    def type(self) -> str:
        """The frame's type, and its subtype where it has one."""
        if self.frame is None:
            return ""
        subtype = self.frame.get("subtype") or (self.frame.get("request") or {}).get("subtype")
        kind = str(self.frame.get("type", ""))
        return f"{kind}/{subtype}" if kind in ("system", "control_request") else kind


Cassette = tuple[Row, ...]


def load_cassette(path: Path) -> Cassette:
    """A recording: a file of JSON rows (`t`, `dir`, `line`), or the directory of a journal."""
    return tuple(_journal_rows(path) if path.is_dir() else _file_rows(path.read_text("utf-8").splitlines()))


def _file_rows(lines: Iterable[str]) -> Iterator[Row]:
    for line in lines:
        row = json.loads(line)
        if row["dir"] in _DIRECTIONS:
            yield _row(float(row["t"]), Direction(row["dir"]), row["line"])


def _journal_rows(directory: Path) -> Iterator[Row]:
    from betcode.holder.journal_reader import JournalReader  # only who plays a journal pays for its reader

    reader = JournalReader(directory, 0, line_limit_bytes=_JOURNAL_LINE_BYTES)
    began_ns: int | None = None
    while records := reader.read(_JOURNAL_SLICE_BYTES):
        for record in records:
            began_ns = record.mono_ns if began_ns is None else began_ns
            if record.kind.value in _DIRECTIONS:
                line = record.data.decode("utf-8", "replace").rstrip("\n")
                yield _row((record.mono_ns - began_ns) / 1e9, Direction(record.kind.value), line)


def _row(at_s: float, direction: Direction, line: str) -> Row:
    try:
        frame = json.loads(line)
    except ValueError:  # cut by the recorder, or never JSON: played as it is
        frame = None
    return Row(at_s, direction, line, frame if isinstance(frame, dict) else None)


_ID_FIELD = re.compile(
    r'"(?:uuid|session_id|request_id|command_uuid|user_message_uuid|tool_use_id|parent_tool_use_id|api_message_id|id)"'
    r':\s*"([^"\\]+)"'
)
_SESSION_FIELD = re.compile(r'"session_id":\s*"([^"\\]+)"')
_TOKEN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{5,}")


class Names:
    """Gives every id of a recording a new one, always the same for the same, so that a second playing is a new one."""

    def __init__(self, cassette: Cassette, session_id: str, salt: str) -> None:
        self._salt = salt
        self._known: dict[str, str] = {}
        for row in cassette:
            for found in _ID_FIELD.findall(row.line):
                self._known.setdefault(found, "")
        session = next((s for row in cassette for s in _SESSION_FIELD.findall(row.line)), None)
        if session is not None:
            self._known[session] = session_id

    def bind(self, recorded: str, live: str) -> None:
        """Replace `recorded` by `live` from now on."""
        if recorded and live:
            self._known[recorded] = live

    def apply(self, text: str) -> str:
        """The text with its recorded ids replaced."""
        return _TOKEN.sub(self._replacement, text)

    def _replacement(self, found: re.Match[str]) -> str:
        recorded = found[0]
        new = self._known.get(recorded)
        if new is None:
            return recorded
        if not new:
            new = self._known[recorded] = self._renamed(recorded)
        return new

    def _renamed(self, recorded: str) -> str:
        import hashlib
        import uuid

        try:
            uuid.UUID(recorded)
        except ValueError:  # msg_…, toolu_…: the prefix shows the kind of an id
            return f"{recorded}_{self._salt[:8]}"
        return str(uuid.UUID(bytes=hashlib.sha256((self._salt + recorded).encode()).digest()[:16], version=4))
