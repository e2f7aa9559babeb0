"""Worktrees of repositories that are not as most are: made, listed and seen by git as by us."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest

from betcode.domain.errors import InvalidRequest, RepositoryNotFound, WorktreeExists, WorktreeHasChanges
from betcode.domain.repositories.worktrees import WorktreeOrigin, WorktreeState
from betcode.domain.store.rows import NewSession
from betcode.domain.values.identifiers import new_session_id
from betcode.git.links import repository_of_linked
from betcode.server.services.worktree import info
from betcode.worktrees import CreateRequest, SeenWorktree
from integration.worktrees.conftest import Bench
from support.attacks.repository import make_hostile_repository
from support.git.repositories import commit, git, make_repository
from support.patience import PATIENCE_S

pytestmark = pytest.mark.anyio


def _plain(at: Path) -> Path:
    return make_repository(at / "shop")


def _with_spaces_and_lines(at: Path) -> Path:
    return make_repository(at / "a b" / "ü 日本\n'x' $(id)")


def _through_a_symlink(at: Path) -> Path:
    (at / "way").symlink_to(make_repository(at / "shop"))
    return at / "way"


def _shallow(at: Path) -> Path:
    there = make_repository(at / "from")
    commit(there, {"README": "more\n"})
    git(at, "clone", "-q", "--depth=1", f"file://{there}", "shop")
    return at / "shop"


def _of_another_hash(at: Path) -> Path:
    git(at, "init", "-q", "-b", "main", "--object-format=sha256", "shop")
    commit(at / "shop", {"README": "hello\n"})
    return at / "shop"


def _with_a_table_of_refs(at: Path) -> Path:
    try:
        git(at, "init", "-q", "-b", "main", "--ref-format=reftable", "shop")
    except subprocess.CalledProcessError:
        pytest.skip("this git has no reftable")
    commit(at / "shop", {"README": "hello\n"})
    return at / "shop"


def _with_links_from_one_to_the_other(at: Path) -> Path:
    path = make_repository(at / "shop")
    git(path, "config", "worktree.useRelativePaths", "true")  # git 2.48; others write whole paths
    return path


def _inside_of_another(at: Path) -> Path:
    return make_repository(make_repository(at / "outer") / "deep" / "shop")


def _bare(at: Path) -> Path:
    git(at, "clone", "-q", "--bare", str(make_repository(at / "from")), "shop.git")
    return at / "shop.git"


def _bare_in_a_directory_of_worktrees(at: Path) -> Path:
    git(at, "clone", "-q", "--bare", str(make_repository(at / "from")), "shop/.git")
    return at / "shop"


def _with_a_head_that_is_no_branch(at: Path) -> Path:
    path = make_repository(at / "shop")
    git(path, "checkout", "-q", "--detach")
    return path


def _hostile(at: Path) -> Path:
    return make_hostile_repository(at).path


_ODD = [
    _plain,
    _with_spaces_and_lines,
    _through_a_symlink,
    _shallow,
    _of_another_hash,
    _with_a_table_of_refs,
    _with_links_from_one_to_the_other,
    _inside_of_another,
    _bare,
    _bare_in_a_directory_of_worktrees,
    _with_a_head_that_is_no_branch,
    _hostile,
]


@pytest.mark.parametrize("make", _ODD)
async def test_a_worktree_is_made_and_listed(bench: Bench, tmp_path: Path, make: Callable[[Path], Path]) -> None:
    repository = make(tmp_path)
    path = str(tmp_path / "new ü")
    seen = await _made(bench, repository, "fix/ü", create_branch=True, path=path)
    assert (seen.row.state, seen.row.origin, seen.row.path) == (WorktreeState.READY, WorktreeOrigin.MADE, path)
    for asked_at in (repository, Path(path)):
        listed = await bench.worktrees.listed(str(asked_at))
        assert [each.row.path for each in listed if each.row.id == seen.row.id] == [path]
        for each in listed:
            info(each).SerializeToString()  # all of it can be told
    assert repository_of_linked(path) == seen.repository.path
    if make is _hostile:
        assert {mark.name for mark in (tmp_path / "marks").iterdir()} == set()
    assert git(Path(path), "symbolic-ref", "--short", "HEAD") == "fix/ü"
    assert git(Path(path), "status", "--porcelain") == ""


@pytest.mark.parametrize("make", _ODD)
async def test_a_worktree_is_switched_to_reported_on_compared_removed_and_restored(
    bench: Bench, tmp_path: Path, make: Callable[[Path], Path]
) -> None:
    repository = make(tmp_path)
    place = tmp_path / "new ü"
    row = (await _made(bench, repository, "fix/ü", create_branch=True, path=str(place))).row
    (place / "committed").write_text("1\n")
    git(place, "add", "committed")
    git(place, "-c", "commit.gpgSign=false", "commit", "-q", "-m", "a change")
    (place / "README").write_text("changed\n")
    (place / "ü\n\x1b[31m").write_text("untracked\n")
    before = (git(place, "rev-parse", "HEAD"), git(place, "status", "--porcelain", "-z"))
    _forget_marks(tmp_path)

    switched = await bench.worktrees.switch(row.id, lambda: NewSession(new_session_id(), "demo", ""))
    assert switched.seen.is_active
    async with bench.worktrees.reports(str(repository)) as reports:
        found = {each.seen.row.id: each async for each in reports}
    assert (found[row.id].may_be_removed, found[row.id].contents.changed_count) == (False, 1)
    if make is not _with_spaces_and_lines:  # of which no tree is noted, as the refusal says
        async with bench.worktrees.diffs.of_worktree(row.id, "", counts=False) as diff:
            patch = b"".join([piece async for piece in diff.pieces])
        assert (b"+changed" in patch, b"+untracked" in patch, b"+1" in patch) == (True, True, True)
    with pytest.raises(WorktreeHasChanges) as refused:
        await bench.worktrees.remove(row.id, force=False)
    assert refused.value.message.isprintable()

    gone = await bench.worktrees.remove(row.id, force=True, by="me")
    assert not place.exists()
    back = await bench.worktrees.restore(str(repository), gone.removed_id, "")
    assert (back.row.id, back.row.state, back.row.trouble) == (row.id, WorktreeState.READY, "")
    assert _forget_marks(tmp_path) <= {"clean", "smudge"}, "nothing else that settings name was run"
    assert (git(place, "rev-parse", "HEAD"), git(place, "status", "--porcelain", "-z")) == before

    _forget_marks(tmp_path)
    git(place, "clean", "-qfd")
    git(place, "reset", "-q", "--hard", "HEAD~1")
    _forget_marks(tmp_path)
    assert not (await bench.worktrees.remove(row.id, force=False)).removed_id
    assert _forget_marks(tmp_path) <= {"clean", "smudge"}
    assert str(place) not in git(repository, "worktree", "list")


def _forget_marks(top: Path) -> set[str]:
    """The programs of a hostile repository that were run since the last look."""
    marks = [*(top / "marks").glob("*")]
    for mark in marks:
        mark.unlink()
    return {mark.name for mark in marks}


async def _made(bench: Bench, repository: Path, branch: str, **more: object) -> SeenWorktree:
    with anyio.fail_after(PATIENCE_S):
        return await bench.worktrees.create(CreateRequest(str(repository), branch, **more)).result()  # type: ignore[arg-type]


_NO_NAMES = ("--upload-pack=x", "../x", "a/../../b", "x y", "-", "", "a" * 300, "@", "HEAD", "@{-1}", "a.lock", "a\0b")


async def test_nothing_is_executed_for_a_name_that_is_none(
    bench: Bench, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await bench.worktrees.listed(str(repository))
    started: list[object] = []
    for where in ("subprocess.Popen", "betcode.proc.child.Popen"):
        monkeypatch.setattr(where, lambda *arguments, **_: started.append(arguments))
    for name in _NO_NAMES:
        for new in (True, False):
            with pytest.raises(InvalidRequest):
                await _made(bench, repository, name, create_branch=new)
    assert started == []


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a directory away")
async def test_a_repository_of_somebody_else_is_refused(bench: Bench, repository: Path) -> None:
    for each in (repository, repository / ".git"):
        os.chown(each, 12345, 12345)
    with pytest.raises(RepositoryNotFound, match="dubious ownership"):
        await bench.worktrees.listed(str(repository))


async def test_a_branch_that_is_checked_out_elsewhere_is_refused_with_where(
    bench: Bench, repository: Path, tmp_path: Path
) -> None:
    git(repository, "worktree", "add", "-q", "-b", "fix", str(tmp_path / "there"))
    with pytest.raises(WorktreeExists, match="there"):
        await _made(bench, repository, "fix", path=str(tmp_path / "another"))


async def test_worktrees_whose_names_are_no_text_do_not_hide_the_others(
    bench: Bench, repository: Path, tmp_path: Path
) -> None:
    git(repository, "worktree", "add", "-q", "-b", os.fsdecode(b"o\xff"), str(tmp_path / "plain"))
    git(repository, "worktree", "add", "-q", "-b", "fix", os.fsdecode(bytes(tmp_path) + b"/o\xff"))
    listed = await bench.worktrees.listed(str(repository))
    assert [(each.row.name, each.row.branch) for each in listed] == [("shop", "main"), ("plain", "o\ufffd")]
    for each in listed:
        info(each).SerializeToString()
