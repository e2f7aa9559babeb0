"""Stores drafts, one directory per session: the text and the content of the attachments.

An attachment is stored as bytes and not as a path: pasted text has no path, and a file may change or disappear. The
last writer wins, with one exception: an empty draft replaces another only if that one is what this screen last read or
wrote. So clearing a draft never removes what was written on another screen.
"""

import hashlib
import json
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

from betcode.domain.agents.commands import AttachedFile
from betcode.tui.composer.pieces import ATTACHMENTS_BYTES, ATTACHMENTS_LIMIT, Attachment, Draft
from betcode.tui.private_files import locked, private_directory, read_bounded, write_private

TEXT_LIMIT = 1024 * 1024  # characters
_DRAFT_BYTES = 13 * TEXT_LIMIT  # as JSON, in which a character may take twelve bytes
_SESSIONS = 200  # maximum number of drafts; the oldest is removed first
_ALL_BYTES = 256 * 1024 * 1024  # of all drafts together
_NAME = "draft.json"
_PLAIN_ID = re.compile(r"[0-9a-f-]{8,64}")
_SHA256 = re.compile(r"[0-9a-f]{64}")


class Drafts:
    """The drafts in one directory."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._known: dict[str, Draft] = {}  # the versions that this screen last read or wrote

    def read(self, session_id: str) -> Draft:
        """Return the draft of the session; empty if there is none or it is invalid."""
        directory = self._directory_of(session_id)
        data = read_bounded(directory / _NAME, _DRAFT_BYTES)
        draft = _draft(data, directory) if data else Draft()
        self._known[session_id] = draft
        return draft

    def write(self, session_id: str, draft: Draft) -> None:
        """Save the draft, unless it is already saved.

        Raises:
            OSError: the draft cannot be written.
        """
        if self._known.get(session_id) == draft:
            return
        directory = self._directory_of(session_id)
        if draft.is_empty and not directory.exists():
            return
        with locked(self._directory / "lock"):
            if draft.is_empty:
                data = read_bounded(directory / _NAME, _DRAFT_BYTES)
                if not data or _draft(data, directory) == self._known.get(session_id, Draft()):
                    _remove(directory)
            else:
                may_be_more = bool(draft.attachments) or not directory.exists()
                _put(private_directory(directory), draft)
                if may_be_more:
                    self._remove_oldest(directory)
        self._known[session_id] = draft

    def _directory_of(self, session_id: str) -> Path:
        plain = _PLAIN_ID.fullmatch(session_id)
        return self._directory / (session_id if plain else hashlib.sha256(session_id.encode()).hexdigest())

    def _remove_oldest(self, newest: Path) -> None:
        directories = [each for each in self._directory.iterdir() if each.is_dir() and each != newest]
        directories.sort(key=lambda each: each.stat().st_mtime_ns, reverse=True)
        available = _ALL_BYTES - _size(newest)
        for number, each in enumerate(directories, start=2):
            available -= _size(each)
            if number > _SESSIONS or available < 0:
                _remove(each)


def _size(directory: Path) -> int:
    return sum(path.stat().st_size for path in directory.iterdir())


def _put(directory: Path, draft: Draft) -> None:
    named = []
    for one in draft.attachments:
        sha256 = hashlib.sha256(one.file.data).hexdigest()
        if not (directory / sha256).exists():
            write_private(directory / sha256, one.file.data)
        facts = {"sha256": sha256, "filename": one.file.filename, "mime_type": one.file.mime_type, "lines": one.lines}
        named.append({**facts, "instead": "" if one.is_pasted_text else one.instead})
    whole = json.dumps({"text": draft.text[:TEXT_LIMIT], "attachments": named})
    write_private(directory / _NAME, whole.encode())
    needed = {_NAME, *(str(facts["sha256"]) for facts in named)}
    for path in directory.iterdir():
        if path.name not in needed and not path.name.startswith("."):
            path.unlink(missing_ok=True)


def _remove(directory: Path) -> None:
    with suppress(OSError):
        for path in directory.iterdir():
            path.unlink(missing_ok=True)
        directory.rmdir()


def _draft(data: bytes, directory: Path) -> Draft:
    try:
        facts = json.loads(data)
    except ValueError:
        return Draft()
    if not isinstance(facts, dict) or not isinstance(facts.get("text"), str):
        return Draft()
    listed = facts.get("attachments")
    named = listed[:ATTACHMENTS_LIMIT] if isinstance(listed, list) else []
    found = (_attachment(one, directory) for one in named)
    return Draft(facts["text"], tuple(one for one in found if one is not None))


def _attachment(facts: Any, directory: Path) -> Attachment | None:
    if not isinstance(facts, dict):
        return None
    words = [facts.get(name) for name in ("sha256", "filename", "mime_type", "instead")]
    lines = facts.get("lines")
    if not all(isinstance(word, str) for word in words) or not isinstance(lines, int):
        return None
    sha256, filename, mime_type, instead = map(str, words)
    data = read_bounded(directory / sha256, ATTACHMENTS_BYTES) if _SHA256.fullmatch(sha256) else None
    if data is None:
        return None
    text = data.decode(errors="replace") if lines > 0 else instead
    return Attachment(AttachedFile(filename, mime_type, data), text, lines)
