"""What git says of repositories that are not as most are."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from betcode.domain.errors import GitFailed, RepositoryNotFound
from betcode.git.command import Git
from betcode.git.repository import RepositoryLocation, git_directory, listed_worktrees, locate, nearest_top
from support.git.repositories import git, make_repository

pytestmark = pytest.mark.anyio


@pytest.fixture
def our_git(tmp_path: Path) -> Git:
    return Git({**os.environ, "HOME": str(tmp_path)})


def _bare(at: Path) -> RepositoryLocation:
    make_repository(at / "shop")
    git(at, "clone", "-q", "--bare", "shop", "shop.git")
    return RepositoryLocation(str(at / "shop.git"), "")


def _inside_of_gits_own_directory(at: Path) -> RepositoryLocation:
    return RepositoryLocation(str(make_repository(at / "shop") / ".git"), "")


def _with_lines_in_its_path(at: Path) -> RepositoryLocation:
    path = make_repository(at / "a\nb\n" / "ü 日本 'x'")
    return RepositoryLocation(str(path / ".git"), str(path))


def _through_a_symlink(at: Path) -> RepositoryLocation:
    path = make_repository(at / "shop")
    (at / "way").symlink_to(path)
    return RepositoryLocation(str(path / ".git"), str(path))


def _with_its_git_directory_elsewhere(at: Path) -> RepositoryLocation:
    git(at, "init", "-q", f"--separate-git-dir={at}/of-git", "shop")
    return RepositoryLocation(str(at / "of-git"), str(at / "shop"))


def _inside_of_another(at: Path) -> RepositoryLocation:
    inner = make_repository(make_repository(at / "shop") / "deep" / "inner")
    return RepositoryLocation(str(inner / ".git"), str(inner))


def _without_a_commit(at: Path) -> RepositoryLocation:
    git(at, "init", "-q", "shop")
    return RepositoryLocation(str(at / "shop" / ".git"), str(at / "shop"))


def _shallow(at: Path) -> RepositoryLocation:
    git(at, "clone", "-q", "--depth=1", f"file://{make_repository(at / 'from')}", "shop")
    return RepositoryLocation(str(at / "shop" / ".git"), str(at / "shop"))


def _of_another_hash(at: Path) -> RepositoryLocation:
    git(at, "init", "-q", "--object-format=sha256", "shop")
    git(at / "shop", "commit", "-q", "--allow-empty", "-m", "x")
    return RepositoryLocation(str(at / "shop" / ".git"), str(at / "shop"))


def _with_a_table_of_refs(at: Path) -> RepositoryLocation:
    try:
        git(at, "init", "-q", "--ref-format=reftable", "shop")
    except subprocess.CalledProcessError:
        pytest.skip("this git has no reftable")
    return RepositoryLocation(str(at / "shop" / ".git"), str(at / "shop"))


def _that_says_it_is_bare(at: Path) -> RepositoryLocation:
    path = make_repository(at / "shop")
    git(path, "config", "core.bare", "true")
    return RepositoryLocation(str(path / ".git"), "")


def _whose_files_are_elsewhere(at: Path) -> RepositoryLocation:
    path = make_repository(at / "shop")
    (at / "home").mkdir()
    git(path, "config", "core.worktree", str(at / "home"))
    return RepositoryLocation(str(path / ".git"), "")


def _of_a_submodule(at: Path) -> RepositoryLocation:
    path = make_repository(at / "shop")
    git(
        path, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(make_repository(at / "inner")), "module"
    )
    return RepositoryLocation(str(path / ".git" / "modules" / "module"), str(path / "module"))


_ASKED_AT: dict[Callable[[Path], RepositoryLocation], str] = {
    _bare: "shop.git/refs",
    _inside_of_gits_own_directory: "shop/.git/refs",
    _with_lines_in_its_path: "a\nb\n/ü 日本 'x'",
    _through_a_symlink: "way",
    _inside_of_another: "shop/deep/inner",
    _of_a_submodule: "shop/module",
}


@pytest.mark.parametrize(
    "make",
    [
        *_ASKED_AT,
        _with_its_git_directory_elsewhere,
        _without_a_commit,
        _shallow,
        _of_another_hash,
        _with_a_table_of_refs,
        _that_says_it_is_bare,
        _whose_files_are_elsewhere,
    ],
)
async def test_the_repository_of_a_directory_is_found(
    tmp_path: Path, our_git: Git, make: Callable[[Path], RepositoryLocation]
) -> None:
    place = make(tmp_path)
    # Of users who want git to look at no bare repository that they did not name.
    (tmp_path / ".gitconfig").write_text("[safe]\n\tbareRepository = explicit\n")
    assert await locate(our_git, str(tmp_path / _ASKED_AT.get(make, "shop"))) == place
    first, *_ = await listed_worktrees(our_git, place.common_dir)
    is_bare = make in (_bare, _that_says_it_is_bare)
    assert first.is_bare is is_bare
    if make is _without_a_commit:
        assert (first.head, bool(first.branch)) == ("", True)
    elif not is_bare and make not in (_with_its_git_directory_elsewhere, _with_a_table_of_refs):
        assert len(first.head) == (64 if make is _of_another_hash else 40)


async def test_a_directory_without_a_repository_is_reported(tmp_path: Path, our_git: Git) -> None:
    with pytest.raises(RepositoryNotFound, match="is not in a git repository"):
        await locate(our_git, str(tmp_path))
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / ".git").write_text("gitdir: .git\n")
    with pytest.raises(RepositoryNotFound):
        await locate(our_git, str(tmp_path / "x"))


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a directory away")
async def test_a_repository_of_somebody_else_is_refused_as_git_refuses_it(tmp_path: Path, our_git: Git) -> None:
    path = make_repository(tmp_path / "shop")
    for each in (path, path / ".git"):
        os.chown(each, 12345, 12345)
    with pytest.raises(RepositoryNotFound, match="dubious ownership"):
        await locate(our_git, str(path))
    with pytest.raises(GitFailed):
        await listed_worktrees(our_git, str(path / ".git"))


async def test_names_that_are_not_utf8_are_omitted_or_replaced(tmp_path: Path, our_git: Git) -> None:
    path = make_repository(tmp_path / "shop")
    git(path, "branch", "good")
    odd = os.fsdecode(b"odd\xff")
    git(path, "worktree", "add", "-q", "-b", odd, str(tmp_path / "plain"))
    git(path, "worktree", "add", "-q", str(tmp_path / odd), "good")
    git(path, "worktree", "lock", "--reason", odd, str(tmp_path / "plain"))
    listed = await listed_worktrees(our_git, str(path / ".git"))
    assert [(each.path, each.branch, each.locked) for each in listed] == [
        (str(path), "main", ""),
        (str(tmp_path / "plain"), "odd\ufffd", "odd\ufffd"),
    ]
    make_repository(tmp_path / os.fsdecode(b"m\xffain"))
    (tmp_path / "way").symlink_to(tmp_path / os.fsdecode(b"m\xffain"))
    with pytest.raises(RepositoryNotFound, match="is not UTF-8"):
        await locate(our_git, str(tmp_path / "way"))


async def test_worktrees_with_odd_names_and_links_that_are_gone(tmp_path: Path, our_git: Git) -> None:
    path = make_repository(tmp_path / "shop")
    place = tmp_path / "two\nlines"
    git(path, "worktree", "add", "-q", "-b", "fix", str(place))
    git(path, "worktree", "lock", "--reason", "two\nlines\n", str(place))
    git(path, "worktree", "add", "-q", "--detach", str(tmp_path / "loose"))
    of_git = path / ".git" / "worktrees"
    (of_git / "broken\nname").mkdir()
    (of_git / "pipe").mkdir()
    os.mkfifo(of_git / "pipe" / "commondir")
    (of_git / "empty").mkdir()
    (of_git / "empty" / "gitdir").write_text("")
    listed = {each.path: each for each in await listed_worktrees(our_git, str(path / ".git"))}
    assert listed[str(place)].branch == "fix"
    assert listed[str(place)].locked.startswith("two\nlines")
    assert listed[str(tmp_path / "loose")].is_detached
    (tmp_path / "loose" / ".git").unlink()
    again = {each.path: each for each in await listed_worktrees(our_git, str(path / ".git"))}
    assert again[str(tmp_path / "loose")].prunable
    assert again[str(place)].prunable == ""


@pytest.mark.parametrize("kind", ["pipe", "loop", "text", "nothing"])
def test_a_worktree_without_a_link_has_no_git_directory(tmp_path: Path, kind: str) -> None:
    link = tmp_path / ".git"
    match kind:
        case "pipe":
            os.mkfifo(link)
        case "loop":
            link.symlink_to(".git")
        case "text":
            link.write_text("x" * 100_000)
        case _:
            pass
    assert git_directory(str(tmp_path)) == ""
    assert nearest_top(str(tmp_path)) == ("" if kind == "nothing" else str(tmp_path))


async def test_a_repository_with_very_many_branches_is_listed(tmp_path: Path, our_git: Git) -> None:
    path = make_repository(tmp_path / "shop")
    head = git(path, "rev-parse", "HEAD")
    lines = "".join(f"{head} refs/heads/b/{number:05}\n" for number in range(30_000))
    (path / ".git" / "packed-refs").write_text(f"# pack-refs with: peeled fully-peeled sorted \n{lines}")
    assert len(await listed_worktrees(our_git, str(path / ".git"))) == 1
    assert (await our_git.run("for-each-ref", "--format=%(refname)", "refs/heads", at=path)).count(b"\n") == 30_001
