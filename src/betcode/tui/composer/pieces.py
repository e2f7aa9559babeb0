"""The parts of a message that is being written: text and attachments."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from betcode.domain.agents.commands import AttachedFile
from betcode.wording.sizes import readable

ATTACHMENTS_LIMIT = 20  # what a daemon takes with one message
ATTACHMENTS_BYTES = 20 * 1024 * 1024
_PASTED = re.compile(r"pasted-text-(\d{1,9})\.txt")


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file that goes with the message, and what stands in the text if it is put there instead."""

    file: AttachedFile
    instead: str = ""  # the pasted text itself, or the path that was dropped; empty: it can only be removed
    lines: int = 0  # of a pasted text

    @property
    def is_pasted_text(self) -> bool:
        return self.lines > 0


@dataclass(frozen=True, slots=True)
class Draft:
    """What somebody has written and not sent."""

    text: str = ""
    attachments: tuple[Attachment, ...] = ()

    @property
    def is_empty(self) -> bool:
        return not self.text.strip() and not self.attachments

    @property
    def files(self) -> tuple[AttachedFile, ...]:
        return tuple(one.file for one in self.attachments)


def too_much(files: tuple[AttachedFile, ...]) -> str:
    """Why these cannot go with one message, in a sentence; empty: they can."""
    if len(files) > ATTACHMENTS_LIMIT:
        return f"{len(files)} files: at most {ATTACHMENTS_LIMIT} can be attached to one message"
    total = sum(len(one.data) for one in files)
    if total > ATTACHMENTS_BYTES:
        return (
            f"The files total {readable(total)}: at most {readable(ATTACHMENTS_BYTES)} can be attached to one message"
        )
    empty = next((one.filename for one in files if not one.data), None)
    return f"{empty} is empty: nothing to send" if empty is not None else ""


def pasted_text(text: str, beside: Iterable[Attachment]) -> Attachment:
    """A text that goes as a file, under the next number beside those."""
    number = max((pasted_number(one.file) for one in beside), default=0) + 1
    return attachment_of(AttachedFile(f"pasted-text-{number}.txt", "text/plain", text.encode()))


def attachment_of(file: AttachedFile) -> Attachment:
    """A file that was on its way and came back; a pasted text is known by its name."""
    if not pasted_number(file):
        return Attachment(file)
    text = file.data.decode(errors="replace")
    return Attachment(file, text, text.count("\n") + (not text.endswith("\n")))


def pasted_number(file: AttachedFile) -> int:
    """Which of the pasted texts it is; 0: none."""
    found = _PASTED.fullmatch(file.filename)
    return int(found[1]) if found else 0
