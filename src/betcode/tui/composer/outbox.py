"""Stores sent messages until the daemon acknowledges them, so that each is delivered exactly once.

Each message is a file until the daemon confirms that it is on its disk. The file's name ends in `.new` until a screen
tries to send it, and in `.tried` afterwards. The rename is atomic, so of two screens, one that sends a message and one
that withdraws it, only one succeeds. A message that was tried may have arrived: it is sent again under its original id,
and the daemon counts it once.
"""

import hashlib
import json
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from betcode.domain.agents.commands import AttachedFile
from betcode.domain.values.identifiers import MessageId
from betcode.tui.composer.pieces import ATTACHMENTS_BYTES
from betcode.tui.private_files import read_bounded, write_private

_NEW, _TRIED = ".new", ".tried"
_HEAD_BYTES = 20 * 1024 * 1024
_NAME = re.compile(r"(?P<at>\d{20})-(?P<id>[0-9a-f-]{36})\.(new|tried)")


@dataclass(frozen=True, slots=True)
class UnsentMessage:
    """A message with its id, which is the same for every attempt."""

    message_id: MessageId
    text: str
    attachments: tuple[AttachedFile, ...]
    at_ns: int  # the time of writing: messages are sent in this order
    was_tried: bool = False


class Outbox:
    """The unsent messages of one session, oldest first; in files, or in memory if nothing is stored."""

    def __init__(self, directory: Path | None, session_id: str) -> None:
        digest = hashlib.sha256(session_id.encode()).hexdigest()[:32]
        self._directory = directory / digest if directory else None
        self._unsent = self._read()
        self._only_here: set[str] = set()  # messages without a file

    @property
    def unsent(self) -> Sequence[UnsentMessage]:
        return tuple(self._unsent)

    def add(self, message: UnsentMessage) -> None:
        """Store a message until it is acknowledged.

        Raises:
            OSError: it has no file, but is sent anyway.
        """
        self._unsent.append(message)
        self._only_here.add(message.message_id)
        if self._directory is not None:
            write_private(self._directory / _file_name(message), _written(message))
            self._only_here.discard(message.message_id)

    def try_next(self) -> UnsentMessage | None:
        """Return the next message to send, which can then no longer be withdrawn; None if there is none."""
        while self._unsent:
            message = self._unsent[0]
            if message.was_tried:
                return message
            tried = replace(message, was_tried=True)
            if self._renamed(message, tried):
                self._unsent[0] = tried
                return tried
            del self._unsent[0]  # another screen has withdrawn it
        return None

    def settle(self, message_id: str) -> None:
        """Remove a message that the daemon has stored or rejected."""
        for message in self._unsent:
            if message.message_id == message_id and self._directory is not None:
                with suppress(OSError):  # it is sent again later, and counts once
                    (self._directory / _file_name(message)).unlink()
        self._unsent = [one for one in self._unsent if one.message_id != message_id]

    def withdraw(self, message_id: str) -> UnsentMessage | None:
        """Withdraw a message that was not tried; None if it is not here or may have arrived."""
        for message in self._unsent:
            if message.message_id == message_id and not message.was_tried:
                if self._directory is not None and message_id not in self._only_here:
                    try:
                        (self._directory / _file_name(message)).unlink()
                    except OSError:
                        return None  # another screen was faster
                self._unsent.remove(message)
                return message
        return None

    def _renamed(self, message: UnsentMessage, to: UnsentMessage) -> bool:
        if self._directory is None or message.message_id in self._only_here:
            return True
        try:
            (self._directory / _file_name(message)).rename(self._directory / _file_name(to))
        except FileNotFoundError:
            # Another screen is sending it, under the same id: it may be sent from here too.
            return (self._directory / _file_name(to)).exists()
        except OSError:
            pass  # the disk fails; the message is sent anyway
        return True

    def _read(self) -> list[UnsentMessage]:
        if self._directory is None or not self._directory.is_dir():
            return []
        found = [message for path in self._directory.iterdir() if (message := _read(path)) is not None]
        return sorted(found, key=lambda one: one.at_ns)


def _file_name(message: UnsentMessage) -> str:
    return f"{message.at_ns:020d}-{message.message_id}{_TRIED if message.was_tried else _NEW}"


def _written(message: UnsentMessage) -> bytes:
    """Return one line of JSON, followed by the bytes of the files."""
    named = [[one.filename, one.mime_type, len(one.data)] for one in message.attachments]
    head = json.dumps({"text": message.text, "attachments": named}).encode()
    return b"".join((head, b"\n", *(one.data for one in message.attachments)))


def _read(path: Path) -> UnsentMessage | None:
    name = _NAME.fullmatch(path.name)
    data = read_bounded(path, _HEAD_BYTES + ATTACHMENTS_BYTES) if name else None
    if name is None or data is None:
        return None
    head, _, rest = data.partition(b"\n")
    try:
        facts = json.loads(head)
        text = str(facts["text"])
        files = []
        for filename, mime_type, size in facts["attachments"]:
            files.append(AttachedFile(str(filename), str(mime_type), rest[: int(size)]))
            rest = rest[int(size) :]
    except (ValueError, TypeError, KeyError):
        return None
    return UnsentMessage(MessageId(name["id"]), text, tuple(files), int(name["at"]), path.name.endswith(_TRIED))
