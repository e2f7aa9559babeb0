"""What a worktree has that its base has not: commits, and what is not committed."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from betcode.domain.errors import BranchNotFound, InvalidRequest, WorktreeNotFound, WorktreeUnusable
from betcode.domain.repositories.worktrees import WorktreeRow
from integration.worktrees.conftest import Bench
from support.git.repositories import commit, git
from support.git.trees import everything_in

pytestmark = pytest.mark.anyio


async def _diff(bench: Bench, worktree: str, base: str = "", *, counts: bool = True) -> tuple[str, list[str]]:
    """The note, and the names of what is changed with its counts; or the patch's lines."""
    async with bench.worktrees.diffs.of_worktree(worktree, base, counts=counts) as diff:
        data = b"".join([piece async for piece in diff.pieces]).decode()
    return diff.note, data.rstrip("\0").split("\0") if counts else data.splitlines()


async def _row(bench: Bench, repository: Path, name: str) -> WorktreeRow:
    return next(each.row for each in await bench.worktrees.listed(str(repository)) if each.row.name == name)


async def test_commits_and_all_that_is_not_committed_are_shown_since_both_part(
    bench: Bench, repository: Path, tmp_path: Path
) -> None:
    place = tmp_path / "fix"
    git(repository, "worktree", "add", "-q", "-b", "fix", str(place))
    parted = git(repository, "rev-parse", "--short=12", "HEAD")
    commit(repository, {"elsewhere": "on main\n"})
    commit(place, {"committed": "1\n"})
    (place / "staged").write_text("2\n")
    git(place, "add", "staged")
    (place / "README").write_text("hello\nthere\n")
    (place / "untracked").write_text("3\n")
    before = everything_in(repository / ".git")
    row = await _row(bench, repository, "fix")

    note, names = await _diff(bench, row.id)
    assert note == f"compared with main, from their common commit {parted}"
    assert names == ["1\t0\tREADME", "1\t0\tcommitted", "1\t0\tstaged", "1\t0\tuntracked"]
    assert everything_in(repository / ".git") == before
    assert not list((bench.paths.state_dir / "snapshots").iterdir())
    assert "+there" in (await _diff(bench, row.id, counts=False))[1]
    note, names = await _diff(bench, row.id, "fix")
    assert (note, names) == ("compared with fix", ["1\t0\tREADME", "1\t0\tstaged", "1\t0\tuntracked"])


async def test_what_its_branch_was_made_from_is_the_base(bench: Bench, repository: Path, tmp_path: Path) -> None:
    made_from = commit(repository, {"one": "1\n"})
    commit(repository, {"two": "2\n"})
    git(repository, "worktree", "add", "-q", "-b", "fix", str(tmp_path / "fix"), "main")
    row = await _row(bench, repository, "fix")
    assert (await _diff(bench, row.id))[1] == [""]
    await bench.store.worktrees.save_worktrees([replace(row, base=made_from)])
    note, names = await _diff(bench, row.id)
    assert note == f"compared with {made_from[:12]}, from which its branch was made"
    assert names == ["1\t0\ttwo"]


async def test_the_main_worktree_is_compared_with_its_last_commit(bench: Bench, repository: Path) -> None:
    (repository / "README").write_text("changed\n")
    row = await _row(bench, repository, "shop")
    assert await _diff(bench, row.id) == ("compared with its last commit", ["1\t1\tREADME"])


async def test_branches_without_anything_in_common_are_compared_all_the_same(
    bench: Bench, repository: Path, tmp_path: Path
) -> None:
    git(repository, "checkout", "-q", "--orphan", "island")
    git(repository, "commit", "-q", "-m", "alone")
    git(repository, "checkout", "-q", "main")
    git(repository, "worktree", "add", "-q", str(tmp_path / "island"), "island")
    row = await _row(bench, repository, "island")
    (tmp_path / "island/more").write_text("x\n")
    assert await _diff(bench, row.id) == ("compared with main: they have no commit in common", ["1\t0\tmore"])


async def test_what_cannot_be_compared_is_refused_in_a_sentence(bench: Bench, repository: Path, tmp_path: Path) -> None:
    git(repository, "worktree", "add", "-q", "-b", "fix", str(tmp_path / "fix"))
    row = await _row(bench, repository, "fix")
    with pytest.raises(WorktreeNotFound):
        await _diff(bench, "01890000-0000-7000-8000-000000000000")
    with pytest.raises(BranchNotFound, match="nowhere is not a branch"):
        await _diff(bench, row.id, "nowhere")
    for odd in ("--upload-pack=x", "-", "a..b", "HEAD:README"):
        with pytest.raises(InvalidRequest):
            await _diff(bench, row.id, odd)
    shutil.rmtree(tmp_path / "fix")
    with pytest.raises(WorktreeUnusable, match="does not exist"):
        await _diff(bench, row.id)
    (tmp_path / "fix").mkdir()
    with pytest.raises(WorktreeUnusable, match="no longer at"):
        await _diff(bench, row.id)
