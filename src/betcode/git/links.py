"""Read the links between a worktree and its repository only from files, without a process."""

import errno
import os
import stat
from pathlib import Path

_LIMIT_BYTES = 64 * 1024
_PREFIX = "gitdir: "


def linked_git_directory(top: str) -> str:
    """Return the target of the `.git` file of a linked worktree or a submodule, links followed. It may block.

    Raises:
        OSError, ValueError: there is no such file, or it has no target.
    """
    words = line_of(Path(top) / ".git")
    if not words.startswith(_PREFIX):
        raise ValueError("it is not a git file")
    return os.path.realpath(Path(top) / words.removeprefix(_PREFIX))


def repository_of_linked(top: str) -> str:
    """Return the repository of a linked worktree: its main worktree, or its git directory if it is bare. It may block.

    Empty unless the repository names this worktree, too: an unpacked archive may contain a `.git` file that names a
    repository of its author. (Claude Code has the same test before it trusts a worktree.)
    """
    try:
        git_directory = Path(linked_git_directory(top))
        common = Path(os.path.realpath(git_directory / line_of(git_directory / "commondir")))
        back = git_directory / line_of(git_directory / "gitdir")
    except (OSError, ValueError):
        return ""
    is_registered = git_directory.parent == common / "worktrees"
    if not is_registered or back.name != ".git" or os.path.realpath(back.parent) != os.path.realpath(top):
        return ""
    return str(common.parent if common.name == ".git" else common)


def claimed_repositories(top: str) -> list[str]:
    """The repositories that the `.git` file of a directory names, whether or not they name the directory. It may block.

    Agents read files of the main worktree of a linked worktree. One agent resolves `..` before symbolic links, another
    one after them: both results are returned. Empty: `top` has no such file, or it names no repository.
    """
    found: list[str] = []
    for resolved in (os.path.abspath, os.path.realpath):
        try:
            words = line_of(Path(top) / ".git").strip()
            if not words.startswith(_PREFIX.strip()):
                continue
            git_directory = Path(resolved(Path(top) / words.removeprefix(_PREFIX.strip()).strip()))
            common = Path(resolved(git_directory / line_of(git_directory / "commondir").strip()))
        except (OSError, ValueError):
            continue
        found.append(str(common.parent if common.name == ".git" else common))
    return list(dict.fromkeys(found))


def registered_directory(common_dir: str, top: str) -> str:
    """Return git's own directory of a linked worktree whose files are missing; empty: there is none. It may block."""
    for file in sorted((Path(common_dir) / "worktrees").glob("*/gitdir")):
        try:
            back = file.parent / line_of(file)
        except (OSError, ValueError):
            continue
        if os.path.realpath(back.parent) == top:
            return str(file.parent)
    return ""


def line_of(path: Path) -> str:
    """Return the content of one of git's small files.

    Raises:
        OSError: it cannot be read, or is not a regular file.
        ValueError: its name is invalid.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file", str(path))
        return os.fsdecode(os.read(descriptor, _LIMIT_BYTES)).rstrip("\r\n")
    finally:
        os.close(descriptor)
