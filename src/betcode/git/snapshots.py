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
# The private files of one worktree, besides its index.
_OF_THE_WORKTREE = ("config.worktree", "info/sparse-checkout")
_SETTINGS = {
    "core.safecrlf": "false",  # no commit uses this
    "core.sparseCheckout": "true",  # existing files count, even if git was told to skip them
}
_UPDATE = ("update-index", "--add", "--remove", "--replace", "-z", "--stdin")
_UNABLE = "fatal: Unable to process path "
_MOST_UNREADABLE = 20  # each costs another try
_SHOWN_NAMES = 3
_SHOWN_OF_A_NAME = 80


@dataclass(frozen=True, slots=True)
class Ground(Tree):
    """A worktree, as reported by git."""

    object_format: str = "sha1"


@dataclass(frozen=True, slots=True)
class Snapshot:
    tree: str
    note: str = ""  # omitted files, for people


async def ground_of(git: Git, directory: str) -> Ground | None:
    """Return the worktree of a directory; None: it is in none, or git's directory and its files disagree about it.

    Raises:
        GitFailed: git does not work there; such as in another user's repository.
    """
    asked = ("--is-inside-work-tree", "--git-common-dir", "--absolute-git-dir", "--show-object-format")
    answer = await git.ask("rev-parse", "--path-format=absolute", *asked, "--show-toplevel", at=directory)
    if answer.code and any(words in answer.err for words in _NO_REPOSITORY):
        return None
    if answer.code and "cannot change to" in answer.err:
        raise GitFailed(f"{directory} does not exist")
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
        # Settings of a repository may name any directory as its worktree: its files must not appear in a turn's diff.
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
        """Return variables for a git that reads our objects and the repository's, without the repository's settings."""
        return {"GIT_DIR": str(self.directory)}

    def clear_looks(self) -> None:
        """Delete leftovers of interrupted snapshots. It may block."""
        for left in self.directory.glob("look-*"):
            shutil.rmtree(left, ignore_errors=True)


async def take(
    git: Git, ground: Ground, private: PrivateObjects, limit_bytes: int, bound_s: float = BOUND_S
) -> Snapshot:
    """Return the tree of the worktree now: all files that are not ignored, except untracked ones above the limit.

    Raises:
        GitFailed, StorageDegraded: there is none; partial results are deleted.
    """
    try:
        with anyio.fail_after(bound_s):
            async with _look(ground, private) as variables:
                return await _taken(git, ground, variables, limit_bytes, bound_s)
    except TimeoutError:
        raise GitFailed(f"the tree was not read within {bound_s:g} s") from None
    except OSError as trouble:
        raise StorageDegraded(f"The snapshot failed: {trouble.strerror}") from None


async def _taken(git: Git, ground: Ground, variables: Mapping[str, str], limit_bytes: int, bound_s: float) -> Snapshot:
    async def ask(*arguments: str, stdin: bytes = b"", fine: Sequence[int] = (0,)) -> GitResult:
        answer = await git.ask(*arguments, at=ground.top, stdin=stdin, variables=variables, bound_s=bound_s)
        if answer.code not in fine:
            raise failure(answer, arguments)
        return answer

    # Files marked as unchanged are compared, too. The exit code is 1 if something has changed.
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
        _left_out(found.nested, "a nested repository"),
    )
    return Snapshot(tree, "; ".join(filter(None, notes)))


@dataclass(frozen=True, slots=True)
class _SnapshotPaths:
    wanted: list[bytes]  # paths that differ from the index, or are not in it
    large: list[bytes]
    nested: list[bytes]


def _sorted_out(top: bytes, listed: bytes, limit_bytes: int) -> _SnapshotPaths:
    entries = listed.split(b"\0")
    # Paths that became a directory or a link are removed first, so that files below them can be added.
    known = [entry[2:] for entry in entries if entry[:2] in (b"C ", b"R ", b"M ")]
    changed = [path for path in dict.fromkeys(known) if not _is_behind_a_link(top, path)]
    others = [entry[2:] for entry in entries if entry[:2] == b"? "]
    nested = [path for path in others if path.endswith(b"/")]
    large = [path for path in others if _size_of(top, path) > limit_bytes]
    left_out = frozenset((*nested, *large))
    return _SnapshotPaths([*changed, *(path for path in others if path not in left_out)], large, nested)


def _is_behind_a_link(top: bytes, path: bytes) -> bool:
    """Return whether it is below a link; the link itself is listed, too."""
    parts = path.split(b"/")[:-1]
    return any(os.path.islink(top + b"/" + b"/".join(parts[: count + 1])) for count in range(len(parts)))  # noqa: PTH114


def _size_of(top: bytes, path: bytes) -> int:
    try:
        facts = os.lstat(top + b"/" + path)
    except OSError:
        return 0  # deleted meanwhile
    return facts.st_size if stat.S_ISREG(facts.st_mode) else 0


def _culprit(said: str) -> bytes:
    """Return the path at which git failed; paths before it in the list are not stored either."""
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
    return f"omitted: {shown}{more} ({why})"


def _size(count: int) -> str:
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if count >= unit and count % unit == 0:
            return f"{count // unit} {name}"
    return f"{count} bytes"


@asynccontextmanager
async def _look(ground: Ground, private: PrivateObjects) -> AsyncIterator[dict[str, str]]:
    """Create the files that git needs for one snapshot; only objects remain afterwards."""
    # A hanging disk blocks a thread; its leftovers are deleted at the next start.
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
