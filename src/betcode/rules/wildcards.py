"""Compiles wildcard patterns to expressions that match in bounded time."""

import re
from collections.abc import Sequence


def starred(pieces: Sequence[str], gap: str) -> str:
    """Return the pieces (expressions of a fixed length) in this order, with any number of `gap` between them.

    The earliest match is as good as any later one for all but the last piece, so nothing is tried twice.
    """
    if len(pieces) == 1:
        return pieces[0]
    middle = "".join(f"(?>{gap}*?{piece})" for piece in pieces[1:-1] if piece)
    return f"{pieces[0]}{middle}{gap}*{pieces[-1]}"


def wildcard(text: str) -> re.Pattern[str]:
    """`*` is any text, everything else is itself."""
    return re.compile(starred([re.escape(piece) for piece in text.split("*")], "."), re.DOTALL)
