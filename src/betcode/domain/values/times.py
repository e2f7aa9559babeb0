"""Format times for people and for other programs."""

from datetime import UTC, datetime

_NS = 1_000_000_000
LATEST_NS = 2**63 - _NS  # in the year 2262: later times cannot be stored


def rfc3339(at_ns: int) -> str:
    """Format in UTC, rounded up to the second; empty if the moment is unknown."""
    return _written(-(-min(at_ns, LATEST_NS) // _NS))


def rfc3339_past(at_ns: int) -> str:
    """Format a past moment, rounded down to the second."""
    return _written(min(at_ns, LATEST_NS) // _NS)


def _written(at_s: int) -> str:
    return datetime.fromtimestamp(at_s, UTC).isoformat().replace("+00:00", "Z") if at_s > 0 else ""


def short_duration(seconds: float) -> str:
    """Format in the largest unit that divides it: "7d", "36h", "90m", "500ms"."""
    whole = round(seconds)
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60)):
        if whole and whole % size == 0:
            return f"{whole // size}{unit}"
    return f"{whole}s" if whole == seconds else f"{round(seconds * 1000)}ms"
