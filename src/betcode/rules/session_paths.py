"""The directories of a session, and the spellings of a path in them."""

import os
import posixpath
import re
from collections.abc import Callable
from dataclasses import dataclass

PATH_CHARACTERS = 4096
# Names that lead to a different file in each process: only the opening process knows which.
_BY_PROCESS = re.compile(r"/proc/(?:self|thread-self|\d+)/|/dev/fd(?:/|$)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class PathContext:
    """A session's directory and its user's home; `resolve` follows links, also of files that do not exist yet."""

    directory: str
    home: str
    guarded: tuple[str, ...] = ()  # directories whose files change under a rule only if it names them: betcode's own
    resolve: Callable[[str], str] = os.path.realpath


def expanded(path: str, place: PathContext, cwd: str | None = None) -> str | None:
    """Return `path` made absolute and otherwise unchanged; None if the file is unknown."""
    if not path or "\0" in path or len(path) > PATH_CHARACTERS:
        return None
    if path == "~" or path.startswith("~/"):
        path = place.home + path[1:]
    elif path.startswith("~"):
        return None  # another user's home
    return posixpath.join(cwd or place.directory, path)


def spellings(path: str, place: PathContext, cwd: str | None = None) -> tuple[str, ...]:
    """Return the file's name as written, without `.` and `..`, and the name after following links; () if unknown.

    They may differ: `link/../x` is lexically `x`, but another file if `link` leads to another directory.
    """
    absolute = expanded(path, place, cwd)
    if absolute is None:
        return ()
    written = normal(absolute)
    try:
        resolved = normal(place.resolve(absolute))
    except (OSError, ValueError):
        return ()
    return (written,) if written == resolved else (written, resolved)


def normal(path: str) -> str:
    """An absolute path without `.` and `..`."""
    found = posixpath.normpath(path)
    return found[1:] if found.startswith("//") else found  # POSIX keeps two leading slashes


def is_by_process(path: str) -> bool:
    """Does a normal path lead elsewhere for each process that opens it?"""
    return _BY_PROCESS.match(path) is not None


def within(paths: tuple[str, ...], directories: tuple[str, ...]) -> bool:
    """Does every spelling lie in (or is) one of the directories?"""
    return bool(paths) and all(
        any(path == top or path.startswith(top.rstrip("/") + "/") for top in directories) for path in paths
    )
