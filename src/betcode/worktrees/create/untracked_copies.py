"""Compares, stores and restores untracked copies, which often contain secrets.

Their contents are compared by hash and stored in the state directory, never in git.
"""

import hashlib
import os
import shutil
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

_PIECE_BYTES = 1024 * 1024


def changed_since(top: Path, brought: Mapping[str, str]) -> list[str]:
    """Return those that exist and have changed since they were copied. It may block."""
    return [path for path, known in sorted(brought.items()) if (now := _hash(top, path)) and now != known]


def store_copies(top: Path, paths: Iterable[str], into: Path) -> None:
    """Private copies of those that are there. It may block.

    Raises:
        OSError
    """
    for path in paths:
        if _is_own_file(top, path):
            kept = into / path
            kept.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            shutil.copyfile(top / path, kept, follow_symlinks=False)
            kept.chmod(0o600)


def restore_copies(kept: Path, top: Path, modes: Mapping[str, int]) -> list[str]:
    """Restore private copies to free paths; return those that were restored. It may block.

    Raises:
        OSError
    """
    back = []
    for file in sorted(kept.rglob("*")):
        path = str(file.relative_to(kept))
        target = top / path
        if not file.is_file() or os.path.lexists(target) or not _stays_inside(top, path):
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as out, file.open("rb") as data:
            shutil.copyfileobj(data, out)
        target.chmod(modes.get(path, 0o600))
        back.append(path)
    return back


def modes_of(top: Path, paths: Iterable[str]) -> dict[str, int]:
    """Their permissions. It may block."""
    found = {}
    for path in paths:
        with suppress(OSError):
            found[path] = (top / path).lstat().st_mode & 0o777
    return found


def _hash(top: Path, path: str) -> str:
    """Empty: there is no plain file of that name."""
    if not _is_own_file(top, path):
        return ""
    taken = hashlib.sha256()
    try:
        with (top / path).open("rb") as file:
            while piece := file.read(_PIECE_BYTES):
                taken.update(piece)
    except OSError:
        return "unreadable"
    return taken.hexdigest()


def _is_own_file(top: Path, path: str) -> bool:
    file = top / path
    return file.is_file() and not file.is_symlink() and _stays_inside(top, path)


def _stays_inside(top: Path, path: str) -> bool:
    """Return whether no directory on the path is a link to another directory."""
    parent = os.path.realpath(top / os.path.dirname(path))  # noqa: PTH120 - a name of git's
    return os.path.commonpath([os.path.realpath(top), parent]) == os.path.realpath(top) and ".." not in Path(path).parts
