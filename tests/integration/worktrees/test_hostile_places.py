"""Settings and `.git` files that name directories of somebody else: nothing there is taken for the repository's own."""

import os
from pathlib import Path

import pytest

from betcode.config.settings import Settings, WorktreeSettings
from betcode.domain.errors import GitFailed
from betcode.git.command import Git
from betcode.git.snapshots import ground_of
from betcode.worktrees import CreateRequest
from betcode.worktrees.create.copy_untracked import copy_untracked
from integration.worktrees.conftest import Bench
from support.git.repositories import git, make_repository

pytestmark = pytest.mark.anyio


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """With a key in it, and somebody's own repository, which is not the one that is looked at."""
    made = make_repository(tmp_path / "home")
    (made / ".env").write_text("key")
    return made


@pytest.mark.parametrize("named", ["HOME", "../../home", "/", "/proc/self/fd", "."])
async def test_a_place_that_settings_name_is_not_taken_for_the_repository(
    bench: Bench, repository: Path, home: Path, named: str
) -> None:
    git(repository, "config", "core.worktree", named.replace("HOME", str(home)))
    await bench.worktrees.listed(str(repository / ".git"))
    ((row, _),) = await bench.worktrees.repositories()
    assert row.path == str(repository)


async def test_a_git_file_of_a_stranger_does_not_become_the_repository(
    bench: Bench, repository: Path, tmp_path: Path
) -> None:
    for name in ("by-file", "by-link"):
        stranger = tmp_path / name / ".git"
        stranger.parent.mkdir()
        if name == "by-file":
            stranger.write_text(f"gitdir: {repository / '.git'}\n")
        else:
            stranger.symlink_to(repository / ".git")
        seen = await bench.worktrees.listed(str(tmp_path / name))
        assert [(each.row.path, each.repository.path) for each in seen] == [(str(repository), str(repository))]


async def test_files_of_another_directory_are_not_brought_along(bench: Bench, home: Path, tmp_path: Path) -> None:
    (home / "deep").mkdir()
    hostile = make_repository(home / "deep" / "shop")
    bench.worktrees.use(Settings(worktree=WorktreeSettings(bring_along=(".env",))))
    place = tmp_path / "far" / "new"
    place.parent.mkdir()
    wanted = CreateRequest(str(hostile), "fix", path=str(place), create_branch=True)
    seen = await bench.worktrees.create(wanted).result()
    git(hostile, "config", "core.worktree", str(home))
    assert (await copy_untracked(Git(os.environ), seen.repository.path, str(place), [".env"], {})).files == {}
    git(hostile, "config", "core.worktree", "../../..")
    assert (await copy_untracked(Git(os.environ), seen.repository.path, str(place), [".env"], {})).files == {}
    assert not [*tmp_path.glob("far/**/.env"), *tmp_path.glob("far/.env"), *tmp_path.glob(".env")]
    with pytest.raises(GitFailed):
        await copy_untracked(Git(os.environ), str(tmp_path), str(place), [".env"], {})


async def test_the_tree_of_another_directory_is_not_noted(repository: Path, home: Path, tmp_path: Path) -> None:
    program = Git(os.environ)
    git(repository, "worktree", "add", "-q", "-b", "fix", str(tmp_path / "fix"))
    for each in (repository, tmp_path / "fix"):
        ground = await ground_of(program, str(each))
        assert ground is not None
        assert ground.top == str(each)
    git(repository, "config", "core.worktree", str(tmp_path))
    assert await ground_of(program, str(repository)) is None
    ground = await ground_of(program, str(tmp_path / "fix"))
    assert ground is None or ground.top == str(tmp_path / "fix")
    git(repository, "config", "--unset", "core.worktree")
    git(repository, "config", "extensions.worktreeConfig", "true")
    git(tmp_path / "fix", "config", "--worktree", "core.worktree", str(tmp_path))
    assert await ground_of(program, str(tmp_path / "fix")) is None
