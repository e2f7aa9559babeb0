"""Creates private git directories that ignore a repository's settings."""

import os
from pathlib import Path

_NO_BRANCH = "ref: refs/heads/none\n"


def make_git_directory(directory: Path, object_format: str, settings: str, others: str) -> None:
    """A repository with these lines of [core], which also has the objects of another directory. It may block.

    Raises:
        OSError
    """
    for part in ("", "refs", "objects/info", "objects/pack", "info"):
        (directory / part).mkdir(parents=True, exist_ok=True, mode=0o700)
    is_usual = object_format == "sha1"
    extensions = "" if is_usual else f"[extensions]\n\tobjectFormat = {object_format}\n"
    config = f"[core]\n\trepositoryformatversion = {0 if is_usual else 1}\n{settings}{extensions}"
    (directory / "config").write_text(config, encoding="utf-8")
    (directory / "objects" / "info" / "alternates").write_bytes(_quoted(os.fsencode(others)) + b"\n")
    write_head(directory)


def write_head(directory: Path) -> None:
    """Point HEAD to a missing branch, so that nothing is checked out. It may block."""
    (directory / "HEAD").write_text(_NO_BRANCH, encoding="utf-8")


def remove(path: Path) -> None:
    """A file that may be there. It may block."""
    path.unlink(missing_ok=True)


def _quoted(path: bytes) -> bytes:
    """As git reads it in a list of one path a line."""
    if b"\n" not in path:
        return path
    return b'"' + path.replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n") + b'"'
