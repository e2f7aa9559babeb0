"""Identifiers: 128 bits, time-ordered, written as a UUID here and as `sess_<ULID>` in the obey API."""

import secrets
import time
import uuid
from typing import NewType

SessionId = NewType("SessionId", str)  # the UUID spelling
RunId = NewType("RunId", str)
MessageId = NewType("MessageId", str)
Seq = NewType("Seq", int)  # the number of an event within its session, from 1
SessionKey = NewType("SessionKey", int)  # the database's own integer for a session
RunKey = NewType("RunKey", int)

_CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_ULID_PREFIX = "sess_"
_ULID_LENGTH = 26


class NotAnIdentifier(ValueError):
    """The text is neither a UUID nor `sess_` and a ULID."""


def time_ordered_uuid() -> str:
    """A UUID of version 7: later ones sort after earlier ones."""
    milliseconds = time.time_ns() // 1_000_000
    value = (milliseconds & (2**48 - 1)) << 80 | secrets.randbits(80)
    value = value & ~(0xF << 76) | 7 << 76
    value = value & ~(0x3 << 62) | 2 << 62
    return str(uuid.UUID(int=value))


def new_session_id() -> SessionId:
    return SessionId(time_ordered_uuid())


def new_run_id() -> RunId:
    return RunId(time_ordered_uuid())


def new_message_id() -> MessageId:
    return MessageId(str(uuid.uuid4()))


def parse_session_id(text: str) -> SessionId:
    """Parse either spelling into the UUID.

    Raises:
        NotAnIdentifier: it is neither.
    """
    if text.startswith(_ULID_PREFIX):
        return SessionId(str(uuid.UUID(int=_ulid_value(text[len(_ULID_PREFIX) :]))))
    return SessionId(parse_uuid(text))


def is_session_id(text: str) -> bool:
    """Return whether a text is an id of a session in either spelling."""
    try:
        parse_session_id(text)
    except NotAnIdentifier:
        return False
    return True


def parse_uuid(text: str) -> str:
    """The usual lower-case spelling of a UUID.

    Raises:
        NotAnIdentifier: it is none.
    """
    if len(text) != 36:
        raise NotAnIdentifier(text)
    try:
        return str(uuid.UUID(text))
    except ValueError:
        raise NotAnIdentifier(text) from None


def is_uuid(text: str) -> bool:
    """Return whether it is a UUID in its usual spelling."""
    try:
        return parse_uuid(text) == text
    except NotAnIdentifier:
        return False


def ulid_spelling(session: SessionId) -> str:
    """The same 128 bits as `sess_<ULID>`."""
    value = uuid.UUID(session).int
    digits = (_CROCKFORD[value >> shift & 31] for shift in range(125, -1, -5))
    return _ULID_PREFIX + "".join(digits)


def _ulid_value(text: str) -> int:
    if len(text) != _ULID_LENGTH:
        raise NotAnIdentifier(text)
    value = 0
    for letter in text.upper():
        digit = _CROCKFORD.find(letter)
        if digit < 0:
            raise NotAnIdentifier(text)
        value = value << 5 | digit
    if value >= 2**128:
        raise NotAnIdentifier(text)
    return value
