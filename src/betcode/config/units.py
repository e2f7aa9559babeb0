"""Durations and sizes as people write them: "10m", "2GB"."""

import re
from typing import TypeGuard

_DURATIONS_S = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_SIZES = {
    "B": 1,
    "KB": 1000,
    "MB": 1000**2,
    "GB": 1000**3,
    "TB": 1000**4,
    "KIB": 1024,
    "MIB": 1024**2,
    "GIB": 1024**3,
    "TIB": 1024**4,
}
LONGEST_S = 36500 * 86400.0  # longer ones, in nanoseconds, would approach the database's limit
LARGEST_BYTES = 2**60
_NUMBER_AND_UNIT = re.compile(r"(\d+(?:\.\d+)?)\s*([A-Za-z]+)")


class NotUnderstood(ValueError):
    """The text is invalid; the message describes a valid one."""


class TooMuch(NotUnderstood):
    """More than anybody can mean, and than we can count with."""


def duration_s(value: object) -> float:
    """Seconds, from "90s", "10m", "1h" or a plain number of seconds.

    Raises:
        NotUnderstood: it is none of these.
    """
    number, unit = (value, "s") if _is_number(value) else _split(value)
    if unit not in _DURATIONS_S:
        raise NotUnderstood('a duration such as "90s", "10m" or "2h"')
    if number > LONGEST_S / _DURATIONS_S[unit]:
        raise TooMuch("a duration of at most 36500d")
    return float(number) * _DURATIONS_S[unit]


def size_bytes(value: object) -> int:
    """Bytes, from "512MB", "2GB", "64MiB" or a plain number of bytes.

    Raises:
        NotUnderstood: it is none of these.
    """
    number, unit = (value, "B") if isinstance(value, int) and _is_number(value) else _split(value)
    if unit.upper() not in _SIZES:
        raise NotUnderstood('a size such as "512MB" or "2GB"')
    if number > LARGEST_BYTES // _SIZES[unit.upper()]:
        raise TooMuch(f"a size of at most {short_size(LARGEST_BYTES)}")
    return int(number * _SIZES[unit.upper()])


def short_size(size: int) -> str:
    """Return the size in the largest unit that divides it: "512MiB", "2GB", "1000B"."""
    for unit in ("TIB", "TB", "GIB", "GB", "MIB", "MB", "KIB", "KB"):
        if size and size % _SIZES[unit] == 0:
            return f"{size // _SIZES[unit]}{unit.replace('I', 'i')}"
    return f"{size}B"


def _is_number(value: object) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and value >= 0


def _split(value: object) -> tuple[int | float, str]:
    found = _NUMBER_AND_UNIT.fullmatch(value.strip()) if isinstance(value, str) else None
    return (float(found[1]), found[2]) if found else (0.0, "")
