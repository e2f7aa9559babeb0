"""The row id of an event: the key of its session and its sequence number in one integer."""

from betcode.domain.errors import StorageFailed

_SEQ_BITS = 40
SEQ_MASK = (1 << _SEQ_BITS) - 1
_KEY_LIMIT = 1 << (63 - _SEQ_BITS)


def place_of(session: int, seq: int) -> int:
    """The place of an event; places of one session follow each other.

    Raises:
        StorageFailed: there is no such place.
    """
    if not (0 <= seq <= SEQ_MASK and 0 < session < _KEY_LIMIT):
        raise StorageFailed(f"no place for event {seq} of session {session}")
    return session << _SEQ_BITS | seq


def first_place(session: int) -> int:
    return place_of(session, 0)


def last_place(session: int) -> int:
    return place_of(session, SEQ_MASK)


def seq_of(place: int) -> int:
    return place & SEQ_MASK
