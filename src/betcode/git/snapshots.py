"""Takes a snapshot of a worktree's tree without changing its repository.

git works in a directory of ours that looks like that of a linked worktree: a copy of the worktree's own index, for its
stat cache, and the other files of a single worktree. New objects go into our own object directory, with those of the
repository as alternates. The repository's index, refs, locks and objects are only read.
"""

import os
import shutil
import stat
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp

import anyio
import anyio.to_thread

from betcode.domain.errors import GitFailed, StorageDegraded
from betcode.domain.values.phrases import named
from betcode.git.command import Git, GitResult, failure
from betcode.git.environment import settings_of_a_call
from betcode.git.private_repository import make_git_directory, write_head
from betcode.git.repository import git_directory
from betcode.git.tree import Tree

BOUND_S = 120.0  # for a whole snapshot
_NO_REPOSITORY = ("not a git repository", "must be run in a work tree")
# What one worktree has to itself, beside its index.
_OF_THE_WORKTREE = ("config.worktree", "info/sparse-checkout")
_SETTINGS = {
    "core.safecrlf": "false",  # nobody commits this
    "core.sparseCheckout": "true",  # files that are there count, whatever git was told to skip
}
_UPDATE = ("update-index", "--add", "--remove", "--replace", "-z", "--stdin")
_UNABLE = "fatal: Unable to process path "
_MOST_UNREADABLE = 20  # each costs another try
_SHOWN_NAMES = 3
_SHOWN_OF_A_NAME = 80


@dataclass(frozen=True, slots=True)
class Ground(Tree):
    """A worktree that git has told of."""

    object_format: str = "sha1"


@dataclass(frozen=True, slots=True)
class Snapshot:
    tree: str
    note: str = ""  # what is not in it, for people


async def ground_of(git: Git, directory: str) -> Ground | None:
    """The worktree that a directory is in; None: it is in none, or git's directory and its files do not agree on it.

    Raises:
        GitFailed: git does not work there; such as in a repository of somebody else.
    """
    asked = ("--is-inside-work-tree", "--git-common-dir", "--absolute-git-dir", "--show-object-format")
    answer = await git.ask("rev-parse", "--path-format=absolute", *asked, "--show-toplevel", at=directory)
    if answer.code and any(words in answer.err for words in _NO_REPOSITORY):
        return None
    if answer.code and "cannot change to" in answer.err:
        raise GitFailed(f"{directory} is not there")
    if answer.code:
        raise failure(answer, ("rev-parse",))
    inside, *facts = answer.text.removesuffix("\n").split("\n")
    if inside != "true":
        return None
    if len(facts) != 4:
        raise GitFailed("The path of the repository has a line break in it: that is not supported")
    common_dir, git_dir, object_format, top = facts

    def agreed() -> Ground | None:
        real_top, real_git_dir, real_common_dir = map(os.path.realpath, (top, git_dir, common_dir))
        found = Ground(real_top, real_git_dir, real_common_dir, object_format=object_format)
        # Settings of a repository may name any directory as its worktree: what is there is not for whoever reads turns.
        return found if git_directory(found.top) == found.git_dir else None

    return await anyio.to_thread.run_sync(agreed, abandon_on_cancel=True)


class PrivateObjects:
    """A repository of our own that holds what snapshots add to the user's: trees and files, and no history."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    @property
    def objects(self) -> Path:
        return self.directory / "objects"

    def prepare(self, ground: Ground) -> None:
        """Make it, if it is not there. It may block."""
        make_git_directory(self.directory, ground.object_format, "\tbare = true\n", ground.objects)

    @property
    def variables(self) -> dict[str, str]:
        """For a git that reads what is here and what the repository has; none of the repository's settings count."""
        return {"GIT_DIR": str(self.directory)}

    def clear_looks(self) -> None:
        """What snapshots that were broken off have left. It may block."""
        for left in self.directory.glob("look-*"):
            shutil.rmtree(left, ignore_errors=True)


async def take(
    git: Git, ground: Ground, private: PrivateObjects, limit_bytes: int, bound_s: float = BOUND_S
) -> Snapshot:
    """The tree of the worktree now: all that is not ignored, but for untracked files that are larger than the limit.

    Raises:
        GitFailed, StorageDegraded: there is none; what was begun is taken away.
    """
    try:
        with anyio.fail_after(bound_s):
            async with _look(ground, private) as variables:
                return await _taken(git, ground, variables, limit_bytes, bound_s)
    except TimeoutError:
        raise GitFailed(f"the tree was not read within {bound_s:g} s") from None
    except OSError as trouble:
        raise StorageDegraded(f"The tree cannot be noted: {trouble.strerror}") from None


async def _taken(git: Git, ground: Ground, variables: Mapping[str, str], limit_bytes: int, bound_s: float) -> Snapshot:
    async def ask(*arguments: str, stdin: bytes = b"", fine: Sequence[int] = (0,)) -> GitResult:
        answer = await git.ask(*arguments, at=ground.top, stdin=stdin, variables=variables, bound_s=bound_s)
        if answer.code not in fine:
            raise failure(answer, arguments)
        return answer

    # What git was told to take for unchanged is taken for what it is. It ends with 1 where something has changed.
    await ask("update-index", "-q", "--unmerged", "--really-refresh", fine=(0, 1))
    listed = await ask("ls-files", "-z", "-t", "--modified", "--deleted", "--others", "--exclude-standard")
    found = await anyio.to_thread.run_sync(
        _sorted_out, os.fsencode(ground.top), listed.out, limit_bytes, abandon_on_cancel=True
    )
    unreadable: list[bytes] = []
    paths = found.wanted
    while paths:
        added = await ask(*_UPDATE, stdin=b"".join(path + b"\0" for path in paths), fine=(0, 128))
        if not added.code:
            break
        culprit = _culprit(added.err)
        if culprit not in paths or len(unreadable) >= _MOST_UNREADABLE:
            raise failure(added, _UPDATE)
        unreadable.append(culprit)
        paths = [path for path in paths if path != culprit]
    tree = (await ask("write-tree", "--missing-ok")).text.strip()
    notes = (
        _left_out(found.large, f"larger than {_size(limit_bytes)}"),
        _left_out(unreadable, "could not be read"),
        _left_out(found.nested, "a repository of its own"),
    )
    return Snapshot(tree, "; ".join(filter(None, notes)))


@dataclass(frozen=True, slots=True)
class _SnapshotPaths:
    wanted: list[bytes]  # paths that are not what the index says, or not in it
    large: list[bytes]
    nested: list[bytes]


def _sorted_out(top: bytes, listed: bytes, limit_bytes: int) -> _SnapshotPaths:
    entries = listed.split(b"\0")
    # What has become a directory or a link goes first, and makes room for what lies behind it now.
    known = [entry[2:] for entry in entries if entry[:2] in (b"C ", b"R ", b"M ")]
    changed = [path for path in dict.fromkeys(known) if not _is_behind_a_link(top, path)]
    others = [entry[2:] for entry in entries if entry[:2] == b"? "]
    nested = [path for path in others if path.endswith(b"/")]
    large = [path for path in others if _size_of(top, path) > limit_bytes]
    left_out = frozenset((*nested, *large))
    return _SnapshotPaths([*changed, *(path for path in others if path not in left_out)], large, nested)


def _is_behind_a_link(top: bytes, path: bytes) -> bool:
    """The link itself is listed, too, and takes its place."""
    parts = path.split(b"/")[:-1]
    return any(os.path.islink(top + b"/" + b"/".join(parts[: count + 1])) for count in range(len(parts)))  # noqa: PTH114


def _size_of(top: bytes, path: bytes) -> int:
    try:
        facts = os.lstat(top + b"/" + path)
    except OSError:
        return 0  # gone meanwhile
    return facts.st_size if stat.S_ISREG(facts.st_mode) else 0


def _culprit(said: str) -> bytes:
    """The path for which git gave up; what went before it in the list is not kept either."""
    last = next((line for line in reversed(said.splitlines()) if line.startswith("fatal: ")), "")
    if last.startswith(_UNABLE):
        return os.fsencode(last.removeprefix(_UNABLE))
    path, found, _ = last.removeprefix("fatal: ").partition(": clean filter '")
    return os.fsencode(path) if found else b""


def _left_out(names: Sequence[bytes], why: str) -> str:
    if not names:
        return ""
    shown = ", ".join(named(os.fsdecode(name), _SHOWN_OF_A_NAME) for name in sorted(names)[:_SHOWN_NAMES])
    more = f" and {len(names) - _SHOWN_NAMES} more" if len(names) > _SHOWN_NAMES else ""
    return f"left out: {shown}{more} ({why})"


def _size(count: int) -> str:
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if count >= unit and count % unit == 0:
            return f"{count // unit} {name}"
    return f"{count} bytes"


@asynccontextmanager
async def _look(ground: Ground, private: PrivateObjects) -> AsyncIterator[dict[str, str]]:
    """What git needs for one look at the worktree; nothing of it is left behind but objects."""
    # A disk that hangs holds up a thread; what that leaves behind is cleared at the next start.
    directory = await anyio.to_thread.run_sync(_prepared, ground, private, abandon_on_cancel=True)
    try:
        yield {
            "GIT_DIR": str(directory),
            "GIT_COMMON_DIR": ground.common_dir,
            "GIT_WORK_TREE": ground.top,
            "GIT_INDEX_FILE": str(directory / "index"),
            "GIT_OBJECT_DIRECTORY": str(private.objects),
            **settings_of_a_call(_SETTINGS),
        }
    finally:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(lambda: shutil.rmtree(directory, ignore_errors=True))


def _prepared(ground: Ground, private: PrivateObjects) -> Path:
    private.prepare(ground)
    directory = Path(mkdtemp(prefix="look-", dir=private.directory))
    theirs = Path(ground.git_dir)
    (directory / "info").mkdir()
    write_head(directory)
    ground.copy_index(directory / "index")
    shared = (each.name for each in theirs.glob("sharedindex.*"))
    for name in (*shared, *_OF_THE_WORKTREE):
        with suppress(FileNotFoundError):
            shutil.copy2(theirs / name, directory / name)
    return directory
