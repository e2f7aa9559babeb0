"""What a line is when it is no frame we know."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Unknown:
    """Well formed, of a kind that is not known here; passed over."""

    kind: str
    raw: bytes


@dataclass(frozen=True, slots=True)
class Malformed:
    """Not to be read at all, and why."""

    raw: bytes
    reason: str
