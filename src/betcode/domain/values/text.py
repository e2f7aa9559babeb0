"""Valid Unicode text for events, cut only between characters."""

import re

_ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # colours, and where the cursor goes
    r"|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?"  # titles, links and the like
    r"|\x1b[ -/]*[0-~]?"
)


def valid(text: str) -> str:
    """Return the text with unpaired surrogates replaced by U+FFFD; pairs become the character they represent."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def is_valid(text: str) -> bool:
    """Return whether it can be encoded unchanged."""
    return valid(text) == text


def shortened(text: str, limit: int) -> str:
    """Return at most `limit` characters of it, the last an ellipsis if something is missing."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def without_escapes(text: str) -> str:
    """Return a program's terminal output without control sequences."""
    return _ESCAPES.sub("", text)


def beginning(data: bytes, limit_bytes: int) -> str:
    """As many whole characters as fit."""
    return data[:limit_bytes].decode(errors="ignore")
