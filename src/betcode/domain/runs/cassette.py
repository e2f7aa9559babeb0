"""Cassettes: recordings of an agent that can be played back, without private data.

A row is one line to or from the agent: its time, its direction, its text. `scrub` removes secrets, the home directory
and mail addresses from the rows. It is a filter without a guarantee, see `domain.values.secrets`: read a recording
before you share it.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from typing import Any

from betcode.domain.values.secrets import redacted, redacted_json

HOME = "/home/user"
PROJECT = f"{HOME}/project"
ADDRESS = "user@example.com"
SECRETS, PATHS, ADDRESSES = "secrets", "paths", "addresses"

_MARK = re.compile(r"\[redacted:")
_MAIL = re.compile(r"(?<![\w.+%-])[A-Za-z0-9._%+-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.){1,8}[A-Za-z]{2,24}(?![\w-])")
_OF_PROGRAMS = ("git@", "noreply@")  # which belong to no person
# The fields with the pieces of a streamed block, by the kind of the delta.
_PIECES: Mapping[str, str] = {
    "text_delta": "text",
    "thinking_delta": "thinking",
    "input_json_delta": "partial_json",
    "signature_delta": "signature",
}

_SAID = frozenset(("content", "text", "thinking", "input", "result", "error", "message", "response", "cwd"))
_TECHNICAL = frozenset(("id", "type", "role", "model", "uuid", "session_id", "tool_use_id", "signature", "usage"))


@dataclass(frozen=True, slots=True)
class CassetteRow:
    at_s: float
    direction: str  # in, out, err or exit
    line: str

    def as_json(self) -> str:
        return json.dumps({"t": round(self.at_s, 6), "dir": self.direction, "line": self.line}, ensure_ascii=False)


@dataclass(slots=True)
class Scrubbed:
    rows: list[CassetteRow]
    replaced: Counter[str] = field(default_factory=Counter)  # the number of replacements, by kind


def scrub(rows: Iterable[CassetteRow], *, home: str, project: str) -> Scrubbed:
    """The rows without secrets, mail addresses and the paths of the person who recorded them."""
    scrubber = _Scrubber(home, project)
    kept = [replace(row, line=scrubber.line(row.line)) for row in _whole_blocks(list(rows), scrubber)]
    return Scrubbed(kept, scrubber.replaced)


class _Scrubber:
    def __init__(self, home: str, project: str) -> None:
        self.replaced: Counter[str] = Counter()
        self._paths = list(_path_patterns(home, project))

    def line(self, line: str) -> str:
        """Return one line of the wire; JSON remains JSON."""
        try:
            json.loads(line)
        except (ValueError, RecursionError):
            return self.text(line)
        hidden = redacted_json(line)
        self._note_secrets(line, hidden)
        changed = json.dumps(self._value(json.loads(hidden)), ensure_ascii=False, separators=(",", ":"))
        return line if json.loads(changed) == json.loads(line) else changed

    def text(self, text: str) -> str:
        hidden = redacted(text)
        self._note_secrets(text, hidden)
        return self._plain(hidden)

    def _note_secrets(self, before: str, after: str) -> None:
        self.replaced[SECRETS] += max(0, len(_MARK.findall(after)) - len(_MARK.findall(before)))

    def _value(self, value: Any) -> Any:
        match value:
            case str():
                return self._plain(value)
            case list():
                return [self._value(item) for item in value]
            case dict():
                return {self._plain(name): self._value(item) for name, item in value.items()}
            case _:
                return value

    def _plain(self, text: str) -> str:
        for pattern, instead in self._paths:
            text, count = pattern.subn(instead, text)
            self.replaced[PATHS] += count
        return _MAIL.sub(self._address, text)

    def _address(self, found: re.Match[str]) -> str:
        if found[0].lower().startswith(_OF_PROGRAMS) or found[0] == ADDRESS:
            return found[0]
        self.replaced[ADDRESSES] += 1
        return ADDRESS


def _path_patterns(home: str, project: str) -> Iterable[tuple[re.Pattern[str], str]]:
    """Return the directories of a person, the longest first, also in Claude Code's own spelling."""
    for path, instead in sorted(((project, PROJECT), (home, HOME)), key=lambda each: -len(each[0])):
        if len(PurePosixPath(path).parts) < 2:
            continue  # the root belongs to no person
        for spelled, put in ((path, instead), (re.sub(r"[^A-Za-z0-9]", "-", path), instead.replace("/", "-"))):
            yield (
                re.compile(
                    rf"(?<![\w.-]){re.escape(spelled)}(?![\w.]|-(?!-))"
                    if spelled == path
                    else rf"(?<![\w.-]){re.escape(spelled)}(?![A-Za-z0-9])"
                ),
                put,
            )


def _whole_blocks(rows: Sequence[CassetteRow], scrubber: _Scrubber) -> list[CassetteRow]:
    """Rows in which no secret is spread over the pieces of a streamed block.

    The pieces are put together and scrubbed as one; where that changes anything, the first piece has all of it.
    """
    changed = list(rows)
    blocks: dict[tuple[object, object], list[int]] = {}
    for at, row in enumerate(rows):
        event, stream = _stream_event(row)
        key = (stream, event.get("index"))
        if event.get("type") == "content_block_start":
            blocks[key] = []
        elif event.get("type") == "content_block_delta":
            blocks.setdefault(key, []).append(at)
        elif event.get("type") == "content_block_stop":
            _scrub_block(changed, blocks.pop(key, []), scrubber)
    for places in blocks.values():
        _scrub_block(changed, places, scrubber)
    return changed


def _stream_event(row: CassetteRow) -> tuple[dict[str, Any], object]:
    """The event that a line streams, and the stream that it belongs to."""
    if row.direction != "out" or '"stream_event"' not in row.line:
        return {}, None
    try:
        frame = json.loads(row.line)
    except (ValueError, RecursionError):
        return {}, None
    event = frame.get("event") if isinstance(frame, dict) and frame.get("type") == "stream_event" else None
    return (event, frame.get("parent_tool_use_id")) if isinstance(event, dict) else ({}, None)


def _scrub_block(rows: list[CassetteRow], places: Sequence[int], scrubber: _Scrubber) -> None:
    by_kind: dict[str, list[int]] = {}
    for at in places:
        delta = json.loads(rows[at].line)["event"].get("delta") or {}
        if delta.get("type") in _PIECES:
            by_kind.setdefault(str(delta["type"]), []).append(at)
    for kind, pieces in by_kind.items():
        name = _PIECES[kind]
        whole = "".join(str(json.loads(rows[at].line)["event"]["delta"].get(name) or "") for at in pieces)
        clean = scrubber.line(whole) if kind == "input_json_delta" else scrubber.text(whole)
        if clean != whole:
            for number, at in enumerate(pieces):
                rows[at] = _with_piece(rows[at], name, clean if number == 0 else "")


def _with_piece(row: CassetteRow, name: str, text: str) -> CassetteRow:
    frame = json.loads(row.line)
    frame["event"]["delta"][name] = text
    return replace(row, line=json.dumps(frame, ensure_ascii=False, separators=(",", ":")))


def described(row: CassetteRow) -> str:
    """Return a row's content for people; empty if another row contains it completely."""
    try:
        frame = json.loads(row.line)
    except (ValueError, RecursionError):
        frame = None
    if not isinstance(frame, dict):
        return f"{row.direction} {row.line}"
    kind = str(frame.get("type", ""))
    if kind == "stream_event":
        return ""
    return f"{row.direction} {kind}: {' '.join(_words(frame)) or '-'}"


def _words(value: Any, *, is_said: bool = False) -> Iterable[str]:
    """Return the texts of a frame that a person or the model wrote, in order."""
    match value:
        case str() if is_said:
            yield value
        case list():
            for item in value:
                yield from _words(item, is_said=is_said)
        case dict():
            for name, item in value.items():
                if name not in _TECHNICAL:
                    yield from _words(item, is_said=is_said or name in _SAID)
        case _:
            pass
