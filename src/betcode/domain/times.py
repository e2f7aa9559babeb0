"""Moments as people and other programs read them."""

from datetime import UTC, datetime

_NS = 1_000_000_000
LATEST_NS = 2**63 - _NS  # in the year 2262: what is later cannot be stored


def rfc3339(at_ns: int) -> str:
    """In UTC, to the second, never too early; nothing where the moment is not known."""
    if at_ns <= 0:
        return ""
    return datetime.fromtimestamp(-(-min(at_ns, LATEST_NS) // _NS), UTC).isoformat().replace("+00:00", "Z")
