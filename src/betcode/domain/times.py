"""Moments as people and other programs read them."""

from datetime import UTC, datetime

_NS = 1_000_000_000
LATEST_NS = 253_402_300_799 * _NS  # the end of the year 9999: later than that no format can say


def rfc3339(at_ns: int) -> str:
    """In UTC, to the second, never too early; nothing where the moment is not known."""
    if at_ns <= 0:
        return ""
    return datetime.fromtimestamp(-(-min(at_ns, LATEST_NS) // _NS), UTC).isoformat().replace("+00:00", "Z")
