"""Worktrees whose places are not where one would look, or where something else came to stand."""

import shutil
from pathlib import Path

import anyio
import pytest

from betcode.domain.repositories.worktrees import WorktreeOrigin, WorktreeState
from betcode.worktrees import SeenWorktree
from integration.worktrees.conftest import Bench
from support.git.repositories import git, make_repository
from support.git.worktree_sessions import a_new

pytestmark = pytest.mark.anyio


def _facts(seen: list[SeenWorktree]) -> list[tuple[str, str, WorktreeOrigin]]:
    return [(each.row.name, each.row.path, each.row.origin) for each in seen]


async def test_the_main_worktree_of_a_submodule_is_where_its_files_are(
    bench: Bench, repository: Path, tmp_path: Path
) -> None:
    make_repository(tmp_path / "library")
    git(repository, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(tmp_path / "library"), "lib")
    git(repository / "lib", "worktree", "add", "-q", "-b", "fix", str(tmp_path / "lib-fix"))
    expected = [
        ("lib", str(repository / "lib"), WorktreeOrigin.MAIN),
        ("lib-fix", str(tmp_path / "lib-fix"), WorktreeOrigin.ADOPTED),
    ]
    assert _facts(await bench.worktrees.listed(str(tmp_path / "lib-fix"))) == expected
    assert _facts(await bench.worktrees.listed(str(repository / "lib"))) == expected
    assert [each[0] for each in _facts(await bench.worktrees.listed(str(repository)))] == ["shop"]
    inside = (await bench.engine.row(await bench.engine.create(a_new(repository / "lib")))).new
    assert inside.worktree_id == (await bench.worktrees.listed(str(repository / "lib")))[0].row.id


async def test_git_s_directory_may_be_elsewhere_and_its_main_worktree_may_move(bench: Bench, tmp_path: Path) -> None:
    top = tmp_path / "top"
    top.mkdir()
    git(top, "init", "-q", "-b", "main", "--separate-git-dir", str(tmp_path / "elsewhere"))
    before = await bench.worktrees.listed(str(top))
    assert _facts(before) == [("top", str(top), WorktreeOrigin.MAIN)]
    moved = top.rename(tmp_path / "moved")
    after = await bench.worktrees.listed(str(moved))
    assert [(each.row.id, each.row.path) for each in after] == [(before[0].row.id, str(moved))]
    assert after[0].repository.path == str(moved)


async def test_paths_through_links_name_the_same_worktrees(bench: Bench, repository: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(repository)
    git(tmp_path / "link", "worktree", "add", "-q", "-b", "fix", str(tmp_path / "link" / ".." / "fix"))
    ids = {each.row.id for each in await bench.worktrees.listed(str(tmp_path / "link"))}
    assert ids == {each.row.id for each in await bench.worktrees.listed(str(repository))}
    assert len(ids) == 2
    made = (await bench.engine.row(await bench.engine.create(a_new(tmp_path / "link")))).new
    assert made.worktree_id in ids
    assert made.working_directory == str(tmp_path / "link"), "as it was named"


async def test_a_locked_worktree_that_is_gone_is_stale_though_git_keeps_it(
    bench: Bench, repository: Path, tmp_path: Path
) -> None:
    git(repository, "worktree", "add", "-q", "-b", "fix", "--lock", "--reason", "on a stick", str(tmp_path / "fix"))
    await bench.worktrees.listed(str(repository))
    shutil.rmtree(tmp_path / "fix")
    gone = (await bench.worktrees.listed(str(repository)))[1]
    assert gone.row.state is WorktreeState.STALE
    assert gone.git is not None
    assert gone.git.locked == "on a stick"


async def test_a_path_belongs_to_the_repository_that_has_a_worktree_there_now(
    bench: Bench, repository: Path, tmp_path: Path
) -> None:
    place = tmp_path / "place"
    git(repository, "worktree", "add", "-q", "-b", "fix", str(place))
    old = (await bench.worktrees.listed(str(repository)))[1].row
    git(repository, "worktree", "remove", str(place))
    other = make_repository(tmp_path / "other")
    git(other, "worktree", "add", "-q", "-b", "fix", str(place))
    new = (await bench.worktrees.listed(str(other)))[1].row
    assert (new.id != old.id, new.path, new.state) == (True, str(place), WorktreeState.READY)
    assert (await bench.worktrees.listed(str(repository)))[1].row.state is WorktreeState.STALE
    git(other, "worktree", "remove", str(place))
    git(repository, "worktree", "add", "-q", str(place), "fix")
    back = (await bench.worktrees.listed(str(repository)))[1].row
    assert (back.id, back.state) == (old.id, WorktreeState.READY)
    assert (await bench.worktrees.listed(str(other)))[1].row.state is WorktreeState.STALE


async def test_a_worktree_made_anew_elsewhere_under_the_name_that_git_gave_another_is_not_that_one(
    bench: Bench, repository: Path, tmp_path: Path
) -> None:
    first, second = tmp_path / "one" / "fix", tmp_path / "two" / "fix"
    git(repository, "worktree", "add", "-q", "-b", "first", str(first))
    before = (await bench.worktrees.listed(str(repository)))[1].row
    git(repository, "worktree", "remove", str(first))
    git(repository, "worktree", "add", "-q", "-b", "second", str(second))
    gone, new = [each.row for each in (await bench.worktrees.listed(str(repository)))[1:]]
    assert (gone.id, gone.state, gone.git_dir) == (before.id, WorktreeState.STALE, new.git_dir)
    assert (new.name, new.path) == ("fix-2", str(second))


async def test_a_repository_that_is_looked_at_by_many_at_once_is_known_once(bench: Bench, repository: Path) -> None:
    for name in ("a", "b", "c"):
        git(repository, "worktree", "add", "-q", "-b", name, str(repository.parent / name))
    sessions: list[str] = []

    async def make(directory: Path) -> None:
        sessions.append(await bench.engine.create(a_new(directory)))

    async with anyio.create_task_group() as tasks:
        for name in ("shop", "a", "b", "c") * 3:
            tasks.start_soon(make, repository.parent / name)
    seen = await bench.worktrees.listed("")
    assert [each.sessions.open_count for each in seen] == [3, 3, 3, 3]
    assert len(await bench.store.worktrees.repositories()) == 1
