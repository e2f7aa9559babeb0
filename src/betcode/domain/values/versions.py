"""Compare two versions. Pre-releases come before their release: 0.1.0-alpha.1 < 0.1.0."""

from packaging.version import InvalidVersion, Version

__all__ = ["Version", "is_older", "parsed"]

_LONGEST = 64  # a longer text is no version; parsing it would take time


def parsed(text: str) -> Version | None:
    """The version that a text is; None where it is none."""
    try:
        return Version(text) if len(text) <= _LONGEST else None
    except InvalidVersion:
        return None


def is_older(version: str, than: str) -> bool:
    """Return whether `version` precedes `than`; an invalid version is not older than anything."""
    one, other = parsed(version), parsed(than)
    return one is not None and other is not None and one < other
