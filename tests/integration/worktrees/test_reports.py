"""What each worktree takes and holds, and what is kept for how long."""

import os
import shutil
import time
from pathlib import Path

import pytest

from betcode.domain.store.rows import NewSession
from betcode.domain.values.identifiers import new_session_id
from betcode.worktrees import BranchState, WorktreeReport
from betcode.worktrees.inspect.disk_usage import disk_usage
from betcode.worktrees.remove.expiry import expire
from integration.worktrees.conftest import Bench, row_of
from support.git.repositories import commit, git, make_repository

pytestmark = pytest.mark.anyio

_DAY_NS = 86400 * 10**9


async def test_a_report_says_of_each_whether_it_may_go_and_why(bench: Bench, repository: Path, tmp_path: Path) -> None:
    for name in ("merged", "ahead", "changed", "gone", "locked"):
        git(repository, "worktree", "add", "-q", "-b", name, str(tmp_path / name))
    git(repository, "worktree", "add", "-q", "--detach", str(tmp_path / "detached"))
    made = commit(tmp_path / "ahead", {"a": "1"}, "more")
    (tmp_path / "changed" / "large").write_bytes(os.urandom(300_000))
    row = await row_of(bench, tmp_path / "merged")
    shutil.rmtree(tmp_path / "gone")
    git(repository, "worktree", "lock", str(tmp_path / "locked"))
    session = await bench.engine.create(NewSession(new_session_id(), "demo", row.path, worktree_id=row.id))
    told: dict[str, WorktreeReport] = {}
    async with bench.worktrees.reports(str(repository)) as reports:
        async for each in reports:
            told[each.seen.row.name] = each
    assert {name: (each.may_be_removed, each.reason) for name, each in told.items()} == {
        "shop": (False, "It is the repository itself"),
        "merged": (True, "Nothing would be lost; 1 open session would be closed"),
        "ahead": (False, f"It has 1 commit that exists nowhere else ({made[:7]} more)"),
        "changed": (False, "It has 1 untracked file (large)"),
        "gone": (True, "Its directory is missing"),
        "locked": (False, "It is locked"),
        "detached": (True, "Nothing would be lost"),
    }
    assert {each.of for each in told.values()} == {7}
    assert told["changed"].size.bytes > 300_000 > told["merged"].size.bytes
    assert told["merged"].seen.sessions.last == session
    states = {name: each.branch for name, each in told.items() if name in ("merged", "ahead", "detached")}
    assert states == {
        "merged": BranchState.MERGED,
        "ahead": BranchState.AHEAD,
        "detached": BranchState.DETACHED,
    }


def test_a_size_counts_a_file_of_two_names_once_and_follows_no_link(tmp_path: Path) -> None:
    (tmp_path / "top").mkdir()
    (tmp_path / "large").write_bytes(os.urandom(1_000_000))
    (tmp_path / "top" / "one").write_bytes(os.urandom(100_000))
    os.link(tmp_path / "top" / "one", tmp_path / "top" / "two")
    (tmp_path / "top" / "link").symlink_to(tmp_path)
    size = disk_usage(str(tmp_path / "top"), 20)
    assert 100_000 <= size.bytes < 200_000
    assert not size.is_partial


def test_a_size_that_takes_too_long_is_partial(tmp_path: Path) -> None:
    for number in range(600):
        (tmp_path / str(number)).touch()
    assert disk_usage(str(tmp_path), -1).is_partial
    assert not disk_usage(str(tmp_path), 20).is_partial


async def test_what_was_kept_long_enough_is_dropped_and_a_repository_that_is_gone_is_passed_over(
    bench: Bench, repository: Path, tmp_path: Path
) -> None:
    other = make_repository(tmp_path / "other")
    for home in (repository, other):
        place = tmp_path / f"{home.name}-fix"
        git(home, "worktree", "add", "-q", "-b", "fix", str(place))
        (place / "notes").write_text("x")
        await bench.worktrees.remove((await row_of(bench, place)).id, force=True)
    context, trash = bench.worktrees._context, bench.worktrees._trash
    shutil.rmtree(other)
    assert await expire(context, trash, time.time_ns() + 29 * _DAY_NS) == 0
    assert len(await bench.worktrees.removed("")) == 1
    assert await expire(context, trash, time.time_ns() + 31 * _DAY_NS) == 1
    assert await bench.worktrees.removed("") == []
    assert not git(repository, "for-each-ref", "refs/betcode")
    assert not list((bench.paths.state_dir / "trash").iterdir()), "private files go by their own facts"
