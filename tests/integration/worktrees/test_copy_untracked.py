"""Untracked files that are declared come along: as copies, as private as they were, and never out of a worktree."""

import hashlib
import os
import stat
from pathlib import Path

import anyio
import pytest

from betcode.config.settings import Settings, WorktreeSettings
from betcode.domain.errors import SetupFailed
from betcode.domain.repositories.worktrees import SetupState
from betcode.worktrees import CreateRequest, SeenWorktree
from betcode.worktrees.create import copy_untracked
from integration.worktrees.conftest import Bench
from support.git.repositories import commit, git, make_repository
from support.patience import PATIENCE_S
from support.storage.disk import small_disk

pytestmark = pytest.mark.anyio


async def made(bench: Bench, repository: Path, *patterns: str, branch: str = "fix", path: str = "") -> SeenWorktree:
    bench.worktrees.use(Settings(worktree=WorktreeSettings(bring_along=patterns)))
    with anyio.fail_after(PATIENCE_S):
        return await bench.worktrees.create(
            CreateRequest(str(repository), branch, path=path, create_branch=True)
        ).result()


def files_in(place: Path) -> dict[str, str]:
    names = git(place, "ls-files", "--others").split("\n")
    return {name: (place / name).read_text() for name in names if name}


async def test_untracked_and_ignored_files_come_along_as_they_are(bench: Bench, repository: Path) -> None:
    commit(repository, {".gitignore": ".env*\nlocal/\n", "config/a.json": "tracked"})
    for name, text in {
        ".env": "A=1\n",
        ".env.test": "B=2\n",
        "local/deep/er": "x",
        "config/b.json": "mine",
        "other": "no",
        "config/c.txt": "no",
    }.items():
        (repository / name).parent.mkdir(parents=True, exist_ok=True)
        (repository / name).write_text(text)
    (repository / ".env").chmod(0o600)
    (repository / ".env.test").chmod(0o750)
    (repository / "local").chmod(0o700)
    (repository / "config" / "a.json").write_text("changed")
    seen = await made(bench, repository, ".env*", "config/*.json", "local", "README")
    place = Path(seen.row.path)
    assert files_in(place) == {".env": "A=1\n", ".env.test": "B=2\n", "local/deep/er": "x", "config/b.json": "mine"}
    assert (place / "config" / "a.json").read_text() == "tracked"
    modes = [stat.S_IMODE((place / name).stat().st_mode) for name in (".env", ".env.test", "local")]
    assert modes == [0o600, 0o750, 0o700]
    assert seen.row.brought_along == {
        name: hashlib.sha256(text.encode()).hexdigest() for name, text in files_in(place).items()
    }
    assert (seen.row.setup, seen.row.setup_note) == (SetupState.DONE, "")


async def test_links_pipes_and_other_repositories_stay_where_they_are(
    bench: Bench, repository: Path, tmp_path: Path
) -> None:
    (tmp_path / "secret").write_text("key")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "x").write_text("key")
    (repository / "link").symlink_to(tmp_path / "secret")
    (repository / "linked").symlink_to(tmp_path / "elsewhere")
    os.mkfifo(repository / "pipe")
    make_repository(repository / "inner")
    seen = await made(bench, repository, "link", "linked", "linked/**", "pipe", "inner", "inner/**")
    assert files_in(Path(seen.row.path)) == {}
    assert seen.row.brought_along == {}
    for words in ("link (a link)", "linked (a link)", "inner/ (another repository)"):
        assert words in seen.row.setup_note, seen.row.setup_note


async def test_nothing_is_written_through_a_link_of_the_new_worktree_or_over_its_files(
    bench: Bench, repository: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    git(repository, "checkout", "-q", "-b", "odd")
    (repository / "conf").symlink_to(outside)
    commit(repository, {".env": "of the branch"})
    git(repository, "checkout", "-q", "main")
    (repository / "conf" / "sub").mkdir(parents=True)
    (repository / "conf" / "sub" / "x").write_text("x")
    (repository / ".env").write_text("mine")
    bench.worktrees.use(Settings(worktree=WorktreeSettings(bring_along=("conf", ".env"))))
    with anyio.fail_after(PATIENCE_S):
        row = (await bench.worktrees.create(CreateRequest(str(repository), "odd")).result()).row
    assert list(outside.iterdir()) == []
    assert (Path(row.path) / ".env").read_text() == "of the branch"
    assert "conf/sub/x (behind a link in the worktree)" in row.setup_note
    assert ".env (there already)" in row.setup_note


async def test_what_is_too_much_is_left_out_and_counted(
    bench: Bench, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copy_untracked, "_MOST_FILES", 10)
    monkeypatch.setattr(copy_untracked, "_MOST_BYTES", 4096)
    for number in range(20):
        (repository / f"f{number:02}").write_text("x" * (5000 if number == 3 else 10))
    seen = await made(bench, repository, "f*")
    assert len(seen.row.brought_along) == 9
    assert "f03 (more than" in seen.row.setup_note
    assert "10 beyond the first 10" in seen.row.setup_note


async def test_a_disk_without_room_for_them_fails_the_setup(bench: Bench, repository: Path, tmp_path: Path) -> None:
    (repository / "large").write_bytes(bytes(3 * 1024 * 1024))
    with small_disk(tmp_path / "disk", 1) as disk:
        with pytest.raises(SetupFailed, match="large could not be copied: No space left"):
            await made(bench, repository, "large", path=str(disk / "fix"))
        assert not (disk / "fix" / "large").exists()


async def test_what_an_earlier_setup_brought_is_no_trouble_for_the_next(bench: Bench, repository: Path) -> None:
    (repository / ".env").write_text("mine")
    seen = await made(bench, repository, ".env")
    with anyio.fail_after(PATIENCE_S):
        again = (await bench.worktrees.set_up(seen.row.id).result()).row
    assert (again.setup_note, dict(again.brought_along)) == ("", dict(seen.row.brought_along))
