"""Attachments of a message: check them first, store them as blobs, name them in the history."""

import hashlib
import re
from dataclasses import replace

from betcode.config.settings import EngineSettings
from betcode.domain.agents.commands import AttachedFile
from betcode.domain.errors import InvalidRequest
from betcode.domain.sessions.media_type import RECOGNISED, declared, is_text, kind_of
from betcode.domain.store.changes import AddBlob
from betcode.domain.store.rows import Blob
from betcode.domain.values.identifiers import SessionKey
from betcode.v1 import agent_pb2 as v1

NAME_BYTES = 255
TOTAL_BYTES = 20 * 1024 * 1024  # the model's API takes 32 MB in all, and base64 makes four of three
_SHOWN = 200
_MIME_TYPE = re.compile(r"[a-z0-9!#$&^_.+-]{1,63}/[a-z0-9!#$&^_.+-]{1,63}")


def checked(files: tuple[AttachedFile, ...], settings: EngineSettings) -> tuple[AttachedFile, ...]:
    """The files with the types that they really have.

    Raises:
        InvalidRequest: one of them cannot be taken; the sentence says which and why.
    """
    total, most = sum(len(file.data) for file in files), max(TOTAL_BYTES, settings.attachment_limit_bytes)
    settled = tuple(_checked(file, number, settings) for number, file in enumerate(files, start=1))
    if total > most:
        raise InvalidRequest(
            f"The attached files have {total} bytes in all: send at most {most} with one message",
            limit_bytes=str(most),
        )
    return settled


def stored(session: SessionKey, files: tuple[AttachedFile, ...]) -> tuple[list[AddBlob], list[v1.StoredAttachment]]:
    """What is kept of them, and how history names it."""
    blobs = [AddBlob(session, Blob(hashlib.sha256(file.data).hexdigest(), file.data)) for file in files]
    shown = [
        v1.StoredAttachment(
            filename=file.filename, mime_type=file.mime_type, size_bytes=len(file.data), sha256=kept.blob.sha256
        )
        for file, kept in zip(files, blobs, strict=True)
    ]
    return blobs, shown


def _checked(file: AttachedFile, number: int, settings: EngineSettings) -> AttachedFile:
    name = file.filename
    if not name:
        raise InvalidRequest(f"Attached file {number} has no name: give it one")
    if len(name.encode("utf-8", "surrogatepass")) > NAME_BYTES:
        raise InvalidRequest(f"The name of attached file {number} has more than {NAME_BYTES} bytes: give a shorter one")
    if not name.isprintable() or "/" in name or "\\" in name or name in (".", ".."):
        raise InvalidRequest(
            f"{name!r} is not a valid attachment name: remove directories, line breaks and control characters",
            filename=name,
        )
    if not file.data:
        raise InvalidRequest(f"{name!r} is empty: remove it", filename=name)
    if len(file.data) > settings.attachment_limit_bytes:
        raise InvalidRequest(
            f"{name!r} has {len(file.data):,} bytes and at most {settings.attachment_limit_bytes:,} may be attached "
            "(agents.attachment_limit)",
            limit_bytes=str(settings.attachment_limit_bytes),
            filename=name,
        )
    return replace(file, mime_type=_type_of(file))


def _type_of(file: AttachedFile) -> str:
    said, shown = declared(file.mime_type), kind_of(file.data)
    if said and not _MIME_TYPE.fullmatch(said):
        raise InvalidRequest(
            f"{file.filename!r}: {said[:_SHOWN]!r} is not a MIME type: omit the type",
            filename=file.filename,
        )
    if said in RECOGNISED and said != shown:
        what = shown or ("text" if is_text(file.data) else "something else")
        raise InvalidRequest(
            f"{file.filename!r} was declared as {said} but is {what}: send the real type",
            filename=file.filename,
            mime_type=file.mime_type[:_SHOWN],
        )
    if shown and not said.startswith("text/"):
        return shown
    return said or ("text/plain" if is_text(file.data) else "application/octet-stream")
