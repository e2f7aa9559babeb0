"""Worktrees are those that git lists, whoever made them; what is gone is marked and kept."""

import shutil
from pathlib import Path

import pytest

from betcode.domain.errors import RepositoryNotFound
from betcode.domain.repositories.worktrees import WorktreeOrigin, WorktreeState
from integration.worktrees.conftest import Bench
from support.git.repositories import git, make_repository

pytestmark = pytest.mark.anyio


@pytest.mark.behaviour("worktree.list.by-repo")
async def test_a_repository_is_known_once_a_directory_of_it_is_named(
    bench: Bench, repository: Path, tmp_path: Path
) -> None:
    make_repository(tmp_path / "other")
    (repository / "deep").mkdir()
    git(repository, "worktree", "add", "-q", "-b", "fix", str(tmp_path / "fix place"))

    seen = await bench.worktrees.listed(str(repository / "deep"))
    assert [(each.row.name, each.row.branch, each.row.origin) for each in seen] == [
        ("shop", "main", WorktreeOrigin.MAIN),
        ("fix place", "fix", WorktreeOrigin.ADOPTED),
    ]
    assert [each.row.id for each in await bench.worktrees.listed(str(tmp_path / "fix place"))] == [
        each.row.id for each in seen
    ]
    await bench.worktrees.listed(str(tmp_path / "other"))
    assert len(await bench.worktrees.listed("")) == 3


async def test_a_worktree_that_is_deleted_behind_our_back_is_stale_and_comes_back_under_its_id(
    bench: Bench, repository: Path, tmp_path: Path
) -> None:
    place = tmp_path / "fix"
    git(repository, "worktree", "add", "-q", "-b", "fix", str(place))
    before = (await bench.worktrees.listed(str(repository)))[1].row
    shutil.rmtree(place)
    gone = (await bench.worktrees.listed(str(repository)))[1].row
    assert (gone.id, gone.state) == (before.id, WorktreeState.STALE)
    git(repository, "worktree", "prune")
    assert (await bench.worktrees.listed(str(repository)))[1].row == gone

    git(repository, "worktree", "add", "-q", str(place), "fix")
    back = (await bench.worktrees.listed(str(repository)))[1].row
    assert (back.id, back.state) == (before.id, WorktreeState.READY)


async def test_a_worktree_that_is_moved_with_git_keeps_its_id(bench: Bench, repository: Path, tmp_path: Path) -> None:
    git(repository, "worktree", "add", "-q", "-b", "fix", str(tmp_path / "fix"))
    before = (await bench.worktrees.listed(str(repository)))[1].row
    git(repository, "worktree", "move", str(tmp_path / "fix"), str(tmp_path / "elsewhere"))
    after = (await bench.worktrees.listed(str(repository)))[1].row
    assert (after.id, after.path, after.state) == (before.id, str(tmp_path / "elsewhere"), WorktreeState.READY)


async def test_a_directory_in_no_repository_is_refused_with_what_to_do(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    with pytest.raises(RepositoryNotFound, match="change to one, or create one with git init"):
        await bench.worktrees.listed(str(tmp_path / "plain"))
