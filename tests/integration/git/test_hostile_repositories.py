"""Whatever a repository's settings name, our calls of git run nothing of it."""

import os
import shutil
from collections.abc import Sequence
from contextlib import aclosing
from pathlib import Path
from subprocess import CalledProcessError

import pytest

from betcode.domain.errors import GitFailed
from betcode.git.command import Git
from betcode.git.diffs import between
from betcode.git.environment import MAY_FETCH
from betcode.git.repository import listed_worktrees, locate
from betcode.git.snapshots import PrivateObjects, ground_of, take
from support.attacks.repository import Hostile, make_hostile_repository
from support.git import repositories

pytestmark = pytest.mark.anyio

_WHO = {f"GIT_{role}_{part}": "x" for role in ("AUTHOR", "COMMITTER") for part in ("NAME", "EMAIL")}
_LOOKS: list[Sequence[str]] = [
    ("status", "--porcelain=v2", "-z", "--branch"),
    ("status", "--porcelain", "-z", "--untracked-files=all", "--ignore-submodules=none"),
    ("status",),
    ("diff", "HEAD"),
    ("diff", "--cached"),
    ("diff", "--stat", "HEAD~1", "HEAD"),
    ("diff-tree", "-r", "-p", "HEAD~1", "HEAD"),
    ("diff-index", "-p", "HEAD"),
    ("diff-files", "-p"),
    ("log", "-p", "-2"),
    ("show", "HEAD"),
    ("for-each-ref", "refs/heads"),
    ("rev-list", "--count", "HEAD", "--not", "--remotes"),
    ("rev-parse", "--verify", "HEAD^{commit}"),
    ("ls-files", "-z", "--others", "--exclude-standard"),
    ("branch", "--list"),
    ("submodule", "status"),
]
_CHANGES: list[Sequence[str]] = [
    ("worktree", "add", "-b", "new", "../new", "HEAD"),
    ("worktree", "lock", "../new"),
    ("worktree", "unlock", "../new"),
    ("worktree", "remove", "--force", "../new"),
    ("worktree", "prune"),
    ("update-ref", "refs/betcode/trash/x", "HEAD"),
    ("commit-tree", "-m", "x", "HEAD^{tree}"),
    ("branch", "-D", "new"),
    ("reset", "--hard"),
]


@pytest.fixture
def hostile(tmp_path: Path) -> Hostile:
    found = make_hostile_repository(tmp_path)
    (found.path / "README").write_text("changed\n")
    (found.path / "b" / "c").write_text("changed\n")
    (found.path / "untracked").write_text("x\n")
    return found


@pytest.fixture
def git(tmp_path: Path) -> Git:
    return Git({**os.environ, "HOME": str(tmp_path)})


def test_the_programs_are_run_by_git_as_it_comes(hostile: Hostile) -> None:
    """Otherwise the tests below would show nothing."""
    for arguments in [*_LOOKS[:5], ("log", "-p", "-2"), *_CHANGES[:1]]:
        repositories.git(hostile.path, *arguments)
    with pytest.raises(CalledProcessError):
        repositories.git(hostile.path, "cat-file", "-p", "1" * 40)
    expected = {
        "ext",
        "worktree-fsmonitor",
        "diff-external",
        "textconv",
        "hook-post-checkout",
        "hook-reference-transaction",
    }
    assert hostile.found() > expected | {"module-fsmonitor", "clean", "smudge", "hook-post-index-change"}


async def test_reading_a_repository_runs_no_program(hostile: Hostile, git: Git) -> None:
    place = await locate(git, str(hostile.path))
    assert len(await listed_worktrees(git, place.common_dir)) == 2
    for arguments in _LOOKS:
        said = await git.run(*arguments, at=hostile.path)
        assert b"\x1b" not in said, arguments
        assert hostile.found() == set(), arguments
    assert b"untracked" in await git.run("status", "--porcelain", at=hostile.path)


async def test_changes_run_nothing(hostile: Hostile, git: Git) -> None:
    for arguments in _CHANGES:
        await git.run(*arguments, at=hostile.path, variables=_WHO)
        assert hostile.found() == set(), arguments


async def test_a_private_index_leaves_the_repository_as_it_is(hostile: Hostile, git: Git, tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir()
    (own / "objects").mkdir()
    git_dir = hostile.path / ".git"
    shutil.copy(git_dir / "index", own / "index")
    variables = {
        "GIT_INDEX_FILE": str(own / "index"),
        "GIT_OBJECT_DIRECTORY": str(own / "objects"),
        "GIT_ALTERNATE_OBJECT_DIRECTORIES": str(git_dir / "objects"),
    }
    before = _files(git_dir)
    await git.run("add", "-A", "--", ".", at=hostile.path, variables=variables)
    tree = (await git.run("write-tree", at=hostile.path, variables=variables)).decode().strip()
    patch = await git.run("diff-tree", "-r", "-p", "HEAD", tree, at=hostile.path, variables=variables)
    assert b"+changed" in patch
    assert hostile.found() == set()
    assert _files(git_dir) == before


async def test_turn_snapshots_and_diffs_run_no_program(hostile: Hostile, git: Git, tmp_path: Path) -> None:
    ground = await ground_of(git, str(hostile.path))
    assert ground is not None
    private = PrivateObjects(tmp_path / "private")
    before = await take(git, ground, private, 10_000)
    (hostile.path / "README").write_text("changed again\n")
    after = await take(git, ground, private, 10_000)
    async with aclosing(between(git, private, before.tree, after.tree, counts=False)) as pieces:
        assert b"+changed again" in b"".join([piece async for piece in pieces])
    assert hostile.found() == set()


@pytest.mark.parametrize("url", ["ext::PROGRAM ext", "PLACE", "file://PLACE", "git://localhost/x", "odd::x", "https:x"])
async def test_what_is_missing_is_not_fetched_by_a_program(
    hostile: Hostile, git: Git, tmp_path: Path, url: str
) -> None:
    there = url.replace("PROGRAM", str(tmp_path / "program")).replace("PLACE", str(tmp_path / "inner"))
    repositories.git(hostile.path, "config", "remote.origin.url", there)
    missing = "1" * 40
    for variables in ({}, MAY_FETCH):
        assert (await git.ask("cat-file", "-p", missing, at=hostile.path, variables=variables)).code
        assert hostile.found() == set()
    repositories.git(hostile.path, "config", "remote.origin.vcs", "odd")
    assert (await git.ask("cat-file", "-p", missing, at=hostile.path, variables=MAY_FETCH)).code
    assert hostile.found() == set()


@pytest.mark.parametrize("where", ["include", "git-file", "attributes"])
async def test_a_fifo_instead_of_a_file_takes_no_longer_than_the_timeout(tmp_path: Path, git: Git, where: str) -> None:
    repository = repositories.make_repository(tmp_path / "shop")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    match where:
        case "include":
            repositories.git(repository, "config", "include.path", str(pipe))
        case "attributes":
            repositories.git(repository, "config", "core.attributesFile", str(pipe))
        case _:
            (repository / ".git").rename(tmp_path / "elsewhere")
            os.mkfifo(repository / ".git")
    # Git reads the attributes to compare a tracked file whose time has changed and whose size has not.
    readme = repository / "README"
    readme.write_bytes(b"x" * readme.stat().st_size)
    os.utime(readme, (1, 1))
    if where == "git-file":
        assert (await git.ask("status", "--porcelain", at=repository)).code == 128
    else:
        with pytest.raises(GitFailed, match=r"did not end within 0.5 s"):
            await git.ask("status", "--porcelain", at=repository, bound_s=0.5)


def _files(directory: Path) -> dict[str, bytes]:
    return {str(each): each.read_bytes() for each in sorted(directory.rglob("*")) if each.is_file()}
