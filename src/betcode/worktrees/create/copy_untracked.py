"""Copies declared untracked files from the main worktree into a new one, within limits."""

import errno
import hashlib
import os
import stat
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path

import anyio.to_thread

from betcode.domain.errors import GitFailed
from betcode.domain.values.phrases import named
from betcode.git.command import Git
from betcode.git.records import records
from betcode.git.repository import git_directory
from betcode.git.tree import Tree

_MOST_FILES = 1000
_MOST_BYTES = 100 * 1024 * 1024
_NAMED = 5  # of the omitted ones
_NAME_CHARACTERS = 80
_PIECE_BYTES = 1024 * 1024
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT)


@dataclass(slots=True)
class CopyResult:
    files: dict[str, str] = field(default_factory=dict)  # and the SHA-256 of each
    left_out: list[str] = field(default_factory=list)  # with the reason, bounded
    left_out_count: int = 0
    trouble: str = ""  # why it was broken off

    def leave_out(self, name: str, reason: str) -> None:
        self.left_out_count += 1
        if len(self.left_out) < _NAMED:
            self.left_out.append(f"{named(name, _NAME_CHARACTERS)} ({reason})")

    @property
    def note(self) -> str:
        """Return a notice; empty if everything that was requested is there."""
        if not self.left_out_count:
            return ""
        more = self.left_out_count - len(self.left_out)
        names = ", ".join(self.left_out) + (f" and {more} more" if more else "")
        return f"Not copied: {names}"


async def copy_untracked(
    git: Git, source: str, target: str, patterns: Sequence[str], before: Mapping[str, str]
) -> CopyResult:
    """Copy untracked files that match; existing ones are unchanged.

    An existing file is reported only if it was not copied from here `before`.

    Raises:
        GitFailed
    """
    git_dir = await anyio.to_thread.run_sync(git_directory, source, abandon_on_cancel=True)
    if not git_dir:
        raise GitFailed(f"No files can be copied from {source}: it is no longer a worktree")
    names, more = await _matching(git, Tree(source, git_dir, git_dir), patterns)
    brought = await anyio.to_thread.run_sync(_copy_all, source, target, names, before, abandon_on_cancel=True)
    if more:
        brought.left_out.append(f"{more} beyond the first {_MOST_FILES}")
        brought.left_out_count += more
    return brought


async def _matching(git: Git, source: Tree, patterns: Sequence[str]) -> tuple[list[str], int]:
    """Return the untracked files there, ignored or not; the first ones, and the number of others."""
    # git itself matches: its patterns do not follow links, and tracked files are not in this list.
    pathspecs = [f":(top,glob){pattern}" for pattern in patterns]
    names: list[str] = []
    more = 0
    words = ("ls-files", "-z", "--others", "--", *pathspecs)
    # The directory is passed explicitly: settings of a repository may name any directory as its worktree.
    async with aclosing(records(git.stream(*words, at=source.top, variables=source.variables))) as told:
        async for name in told:
            if len(names) < _MOST_FILES:
                names.append(name)
            else:
                more += 1
    return names, more


def _copy_all(source: str, target: str, names: Sequence[str], before: Mapping[str, str]) -> CopyResult:
    brought, left_bytes = CopyResult(), _MOST_BYTES
    for name in names:
        try:
            size, digest = _copy(Path(source), Path(target), name, left_bytes)
        except _AlreadyExists as reason:
            if name not in before:
                brought.leave_out(name, str(reason))
        except _Skipped as reason:
            brought.leave_out(name, str(reason))
        except OSError as trouble:
            if trouble.errno in _NO_ROOM:
                brought.trouble = f"{named(name, _NAME_CHARACTERS)} could not be copied: {trouble.strerror}"
                return brought
            brought.leave_out(name, trouble.strerror or "it cannot be copied")
        else:
            left_bytes -= size
            brought.files[name] = digest
    return brought


class _Skipped(Exception):
    """The file is not copied; the message gives the reason."""


class _AlreadyExists(_Skipped):
    pass


def _copy(source: Path, target: Path, name: str, limit_bytes: int) -> tuple[int, str]:
    if name.endswith("/"):
        raise _Skipped("another repository")
    wanted = target / name
    if ".." in wanted.parts or not wanted.is_relative_to(target):
        raise _Skipped("not in the repository")
    if not _is_plain(source, Path(name).parent):
        raise _Skipped("behind a link")
    try:
        # Opened so that neither a pipe without a writer nor a link can block or redirect it.
        handle = os.open(source / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as trouble:
        if trouble.errno == errno.ELOOP:
            raise _Skipped("a link") from None
        raise
    with open(handle, "rb", closefd=True) as original:  # noqa: PTH123 - it is open
        facts = os.fstat(handle)
        if not stat.S_ISREG(facts.st_mode):
            raise _Skipped("no file")
        if facts.st_size > limit_bytes:
            raise _Skipped(f"more than {_MOST_BYTES // 1024 // 1024} MB together")
        _make_parents(source, target, Path(name).parent)
        try:
            # Private until it is complete; a link that was created meanwhile is not followed.
            copy = os.open(wanted, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        except FileExistsError:
            raise _AlreadyExists("there already") from None
        try:
            with open(copy, "wb", closefd=True) as out:  # noqa: PTH123 - it is open
                digest, size = hashlib.sha256(), 0
                while piece := original.read(_PIECE_BYTES):
                    size += len(piece)
                    if size > limit_bytes:
                        raise _Skipped("it grows")
                    digest.update(piece)
                    out.write(piece)
                out.flush()
                os.fchmod(copy, stat.S_IMODE(facts.st_mode) & 0o777)
        except BaseException:
            wanted.unlink(missing_ok=True)
            raise
    return size, digest.hexdigest()


def _make_parents(source: Path, target: Path, parent: Path) -> None:
    """Create the directories of a copy with the modes of the originals; none behind a link."""
    made = Path()
    for part in parent.parts:
        made /= part
        if not os.path.lexists(target / made):
            (target / made).mkdir(mode=0o700)
            (target / made).chmod(stat.S_IMODE((source / made).stat().st_mode) & 0o777 | stat.S_IRWXU)
        elif not _is_plain(target, made):
            raise _Skipped("behind a link in the worktree")


def _is_plain(top: Path, parent: Path) -> bool:
    """Return whether every part of the path is a directory, not a link to one."""
    made = top
    for part in parent.parts:
        made /= part
        if not stat.S_ISDIR(made.lstat().st_mode):
            return False
    return True
