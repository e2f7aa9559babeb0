"""Shortened ids."""


def short_id(session_id: str) -> str:
    """Return enough of an id to find it again: its time, to the millisecond."""
    return session_id[:13]
