"""Durations and ages as text."""

import math
from datetime import timedelta

from betcode.domain.values.times import short_duration


def age(delta: timedelta) -> str:
    """Return how long ago, in the largest suitable unit."""
    seconds = max(int(delta.total_seconds()), 0)
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds // size} {unit} ago"
    return "now" if seconds < 10 else f"{seconds} s ago"


def when_again(retry_after_s: float | None) -> str:
    """Return `; try again in 40s`, if the daemon gave a delay."""
    return "" if retry_after_s is None else f"; try again in {short_duration(float(math.ceil(retry_after_s)))}"


def span(delta: timedelta) -> str:
    """Return a duration in its largest unit."""
    seconds = max(int(delta.total_seconds()), 0)
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"


def nearly(delta: timedelta) -> str:
    """Return a duration, rounded to the nearest unit: seven days that have just begun are seven."""
    seconds = delta.total_seconds()
    size = next((size for size in (86400, 3600, 60) if seconds >= size), 1)
    return span(timedelta(seconds=round(seconds / size) * size))
