"""The keys of a settings file that belong to Claude Code, which shares the files of projects.

Its names have no underscores and most have a capital in them, which ours never have; the rest are listed.
"""

_PLAIN = frozenset(
    {"agent", "attribution", "env", "hooks", "language", "model", "sandbox", "theme", "tui", "verbose", "voice"}
)
_SHARED = ("permissions", "worktree")  # objects in which both have keys


def is_claudes(key: str) -> bool:
    """Return whether a key, written with dots, belongs to Claude Code."""
    first, _, rest = key.partition(".")
    if first in _SHARED and rest:
        first = rest.partition(".")[0]
        return first != first.lower()
    return first in _PLAIN or first != first.lower() or first.startswith("$")
