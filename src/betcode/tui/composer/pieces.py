"""The parts of a message that is being written: text and attachments."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from betcode.domain.agents.commands import AttachedFile
from betcode.wording.sizes import readable

ATTACHMENTS_LIMIT = 20  # the daemon's limit for one message
ATTACHMENTS_BYTES = 20 * 1024 * 1024
_PASTED = re.compile(r"pasted-text-(\d{1,9})\.txt")


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file to send with the message, and the text that can replace it."""

    file: AttachedFile
    instead: str = ""  # the pasted text, or the dropped path; empty: it can only be removed
    lines: int = 0  # of a pasted text

    @property
    def is_pasted_text(self) -> bool:
        return self.lines > 0


@dataclass(frozen=True, slots=True)
class Draft:
    """A message that was written and not sent."""

    text: str = ""
    attachments: tuple[Attachment, ...] = ()

    @property
    def is_empty(self) -> bool:
        return not self.text.strip() and not self.attachments

    @property
    def files(self) -> tuple[AttachedFile, ...]:
        return tuple(one.file for one in self.attachments)


def too_much(files: tuple[AttachedFile, ...]) -> str:
    """Return why the files cannot be sent with one message, as a sentence; empty if they can."""
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
    """Return an attachment with this text, under the next free number."""
    number = max((pasted_number(one.file) for one in beside), default=0) + 1
    return attachment_of(AttachedFile(f"pasted-text-{number}.txt", "text/plain", text.encode()))


def attachment_of(file: AttachedFile) -> Attachment:
    """Return the attachment for a file that was not sent; a pasted text is recognised by its name."""
    if not pasted_number(file):
        return Attachment(file)
    text = file.data.decode(errors="replace")
    return Attachment(file, text, text.count("\n") + (not text.endswith("\n")))


def pasted_number(file: AttachedFile) -> int:
    """Return the number of a pasted text; 0 for other files."""
    found = _PASTED.fullmatch(file.filename)
    return int(found[1]) if found else 0
