"""A working tree as it is seen from outside: its files, its index and its head."""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from support.git.repositories import git


@dataclass(frozen=True)
class Seen:
    """All of a working tree that can be told from outside."""

    status: bytes
    index: bytes
    files: dict[str, tuple[str, bytes]]
    head: str


def look(top: Path) -> Seen:
    """At a worktree, before and after."""

    def raw(*words: str) -> bytes:
        return subprocess.run(["git", *words], cwd=top, check=True, capture_output=True).stdout

    files: dict[str, tuple[str, bytes]] = {}
    for file in sorted(top.rglob("*")):
        if file.is_symlink():
            files[str(file.relative_to(top))] = ("link", os.fsencode(file.readlink()))
        elif file.is_file() and file != top / ".git":
            files[str(file.relative_to(top))] = (oct(file.stat().st_mode & 0o777), file.read_bytes())
    head = git(top, "rev-parse", "HEAD") + git(top, "rev-parse", "--symbolic-full-name", "HEAD")
    status = raw("status", "--porcelain=v2", "-z", "--untracked-files=all")
    return Seen(status, raw("ls-files", "--stage", "-v", "-z"), files, head)
