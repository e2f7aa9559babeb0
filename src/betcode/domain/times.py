"""Moments as people and other programs read them."""

from datetime import UTC, datetime

_NS = 1_000_000_000
LATEST_NS = 2**63 - _NS  # in the year 2262: what is later cannot be stored


def rfc3339(at_ns: int) -> str:
    """In UTC, to the second, never too early; nothing where the moment is not known."""
    if at_ns <= 0:
        return ""
    return datetime.fromtimestamp(-(-min(at_ns, LATEST_NS) // _NS), UTC).isoformat().replace("+00:00", "Z")


def short_duration(seconds: float) -> str:
    """As people write it, in the largest unit that leaves no rest: "7d", "36h", "90m", "500ms"."""
    whole = round(seconds)
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60)):
        if whole and whole % size == 0:
            return f"{whole // size}{unit}"
    return f"{whole}s" if whole == seconds else f"{round(seconds * 1000)}ms"
