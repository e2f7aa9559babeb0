"""Ids as people read and type them."""


def short_id(session_id: str) -> str:
    """Enough of an id to find it again: its time, to the millisecond."""
    return session_id[:13]
