"""What is in a worktree, in a tree of git, and in git's own directory: for tests that compare them."""

import os
import stat
import subprocess
from pathlib import Path

from betcode.git.snapshots import PrivateObjects


def files_of(objects: PrivateObjects, tree: str) -> dict[bytes, tuple[bytes, bytes]]:
    """Mode and content of every entry of a tree; of a submodule its commit."""
    listed = _git(objects, "ls-tree", "-r", "-z", tree)
    found = {}
    for entry in filter(None, listed.split(b"\0")):
        facts, name = entry.split(b"\t", 1)
        mode, kind, identity = facts.split(b" ")
        found[name] = (mode, _git(objects, "cat-file", "blob", identity.decode()) if kind == b"blob" else identity)
    return found


def names_of(objects: PrivateObjects, tree: str) -> list[str]:
    return sorted(os.fsdecode(name) for name in files_of(objects, tree))


def files_in(worktree: Path) -> dict[bytes, tuple[bytes, bytes]]:
    """The same, of the files that lie in a directory, without git's own."""
    top = os.fsencode(worktree)
    found = {}
    for at, directories, names in os.walk(top):
        directories[:] = [each for each in directories if each != b".git"]
        for name in (*names, *directories):
            path = at + b"/" + name
            mode = os.lstat(path).st_mode
            if stat.S_ISLNK(mode):
                entry = (b"120000", os.readlink(path))  # noqa: PTH115 - as bytes
            elif name != b".git" and stat.S_ISREG(mode):
                entry = (b"100755" if mode & 0o100 else b"100644", Path(os.fsdecode(path)).read_bytes())
            else:
                continue
            found[path.removeprefix(top + b"/")] = entry
    return found


def everything_in(directory: Path, *, objects_have_times: bool = True) -> dict[str, tuple[int, int, bytes]]:
    """Time, mode and bytes of all that is below a directory."""
    found = {}
    for path in sorted(directory.rglob("*")):
        facts = path.lstat()
        content = path.read_bytes() if stat.S_ISREG(facts.st_mode) else b""
        has_time = objects_have_times or "/.git/objects/" not in str(path)
        found[str(path)] = (facts.st_mtime_ns if has_time else 0, facts.st_mode, content)
    return found


def _git(objects: PrivateObjects, *arguments: str) -> bytes:
    environment = {**os.environ, **objects.variables}
    return subprocess.run(
        ["git", *arguments], cwd=objects.directory, env=environment, check=True, capture_output=True, timeout=60
    ).stdout
