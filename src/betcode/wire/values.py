"""Results for lines that are not known frames."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Unknown:
    """Well-formed, of an unknown kind; skipped."""

    kind: str
    raw: bytes


@dataclass(frozen=True, slots=True)
class Malformed:
    """Not to be read at all, and why."""

    raw: bytes
    reason: str
