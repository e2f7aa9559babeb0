"""What a daemon had only begun when it ended is finished or taken back by the next, and nobody's work is touched."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from betcode.config.settings import Settings, WorktreeSettings
from betcode.domain.errors import DaemonStopping
from betcode.domain.repositories.worktrees import (
    SetupState,
    WorktreeOrigin,
    WorktreeRow,
    WorktreeState,
    new_worktree_id,
)
from betcode.domain.store.rows import NewSession, SessionState
from betcode.domain.values.identifiers import new_session_id
from betcode.holder.platform import process
from betcode.worktrees import CreateRequest, Worktrees
from integration.worktrees.conftest import Bench
from support.daemon.process import becomes_true
from support.git.repositories import commit, git
from support.git.worktree_context import worktrees_of
from support.patience import PATIENCE_S

pytestmark = pytest.mark.anyio


async def wanted(bench: Bench, repository: Path) -> WorktreeRow:
    """The row of a worktree that a daemon was about to make, with the branch that it made for it."""
    main = (await bench.worktrees.listed(str(repository)))[0]
    base = git(repository, "rev-parse", "HEAD")
    row = replace(
        main.row,
        id=new_worktree_id(),
        name="fix",
        path=str(repository.parent / "shop-fix"),
        branch="fix",
        origin=WorktreeOrigin.MADE,
        state=WorktreeState.CREATING,
        base=base,
        git_dir="",
        made_branch=True,
    )
    await bench.store.worktrees.save_worktrees([row])
    git(
        repository, "update-ref", "--create-reflog", "-m", f"betcode: for the worktree {row.id}", "refs/heads/fix", base
    )
    return row


def half_made(repository: Path, row: WorktreeRow) -> Path:
    """What git leaves where it is killed before all files are there."""
    reason = f"betcode: for the worktree {row.id}"
    git(repository, "worktree", "add", "--no-checkout", "--lock", "--reason", reason, row.path, "fix")
    (Path(row.path) / "README").write_text("hello\n")
    return Path(row.path)


async def is_begun(bench: Bench, row: WorktreeRow) -> bool:
    now = await bench.store.worktrees.worktree(row.id)
    return now is not None and now.state is WorktreeState.CREATING and not now.setup_note


@asynccontextmanager
async def next_daemon(bench: Bench, row: WorktreeRow) -> AsyncIterator[Worktrees]:
    """One that has looked after the row."""
    async with worktrees_of(bench.store, bench.engine, bench.paths.state_dir) as worktrees:
        with anyio.fail_after(PATIENCE_S):
            while await is_begun(bench, row):  # noqa: ASYNC110
                await anyio.sleep(0.01)
        yield worktrees


async def test_a_worktree_that_git_never_began_is_forgotten_with_its_branch(bench: Bench, repository: Path) -> None:
    row = await wanted(bench, repository)
    async with next_daemon(bench, row) as worktrees:
        assert [each.row.name for each in await worktrees.listed(str(repository))] == ["shop"]
    assert git(repository, "branch", "--format=%(refname:short)") == "main"


async def test_a_branch_that_somebody_moved_or_made_stays(bench: Bench, repository: Path) -> None:
    row = await wanted(bench, repository)
    moved = git(repository, "commit-tree", "-p", "HEAD", "-m", "work", "HEAD^{tree}")
    git(repository, "update-ref", "refs/heads/fix", moved)
    git(repository, "update-ref", "refs/heads/fix", row.base)
    async with next_daemon(bench, row):
        assert await bench.store.worktrees.worktree(row.id) is None
    assert "fix" in git(repository, "branch")


async def test_a_half_made_worktree_is_taken_back(bench: Bench, repository: Path) -> None:
    commit(repository, {"more": "1", "deep/er": "2"})
    row = await wanted(bench, repository)
    place = half_made(repository, row)
    async with next_daemon(bench, row) as worktrees:
        assert [each.row.name for each in await worktrees.listed(str(repository))] == ["shop"]
    assert not place.exists()
    assert git(repository, "branch", "--format=%(refname:short)") == "main"


async def test_a_worktree_of_which_git_wrote_no_more_than_an_empty_link_is_taken_back(
    bench: Bench, repository: Path
) -> None:
    row = await wanted(bench, repository)
    place = half_made(repository, row)
    (place / "README").unlink()
    (place / ".git").write_text("")
    (repository / ".git/worktrees/shop-fix/HEAD").write_text("0" * 40)
    async with next_daemon(bench, row) as worktrees:
        assert [each.row.name for each in await worktrees.listed(str(repository))] == ["shop"]
    assert not place.exists()
    assert "shop-fix" not in git(repository, "worktree", "list")
    git(repository, "fsck", "--connectivity-only")


@pytest.mark.parametrize(("name", "text"), [("notes", "mine"), ("README", "changed"), ("x.log", "ignored")])
async def test_a_half_made_worktree_in_which_somebody_worked_is_completed(
    bench: Bench, repository: Path, name: str, text: str
) -> None:
    commit(repository, {"more": "1", ".gitignore": "*.log\n"})
    row = await wanted(bench, repository)
    place = half_made(repository, row)
    (place / name).write_text(text)
    async with next_daemon(bench, row) as worktrees:
        seen = (await worktrees.listed(str(repository)))[1]
        assert (seen.row.id, seen.row.state, seen.row.setup) == (row.id, WorktreeState.READY, SetupState.FAILED)
        assert "before its setup" in seen.row.setup_note
        assert seen.git is not None
        assert not seen.git.is_locked
    assert (place / name).read_text() == text
    assert (place / "more").read_text() == "1"
    assert "more" not in git(place, "status", "--short")


async def test_a_worktree_that_somebody_else_made_at_the_path_stays(bench: Bench, repository: Path) -> None:
    row = await wanted(bench, repository)
    git(repository, "worktree", "add", "-q", "--lock", "--reason", "mine", "--detach", row.path)
    assert (await bench.worktrees.listed(str(repository)))[1].row == row  # who only looks changes nothing of it
    async with next_daemon(bench, row) as worktrees:
        seen = (await worktrees.listed(str(repository)))[1]
        assert seen.git is not None
        assert (seen.row.path, seen.row.state, seen.git.locked) == (row.path, WorktreeState.READY, "mine")


async def test_a_row_with_sessions_is_kept_as_one_that_is_gone(bench: Bench, repository: Path) -> None:
    row = await wanted(bench, repository)
    new = NewSession(new_session_id(), "demo", str(repository), worktree_id=row.id, environment={}, created_ns=1)
    await bench.store.create_session(new, SessionState(), [])  # made before somebody made the worktree anew
    async with next_daemon(bench, row):
        kept = await bench.store.worktrees.worktree(row.id)
        assert kept is not None
        assert (kept.state, kept.name) == (WorktreeState.STALE, "fix")


async def test_a_worktree_whose_setup_had_not_begun_says_so(bench: Bench, repository: Path) -> None:
    row = await wanted(bench, repository)
    git(repository, "worktree", "add", "-q", row.path, "fix")
    git_dir = str(repository / ".git" / "worktrees" / "shop-fix")
    await bench.store.worktrees.save_worktrees([replace(row, git_dir=git_dir)])
    async with next_daemon(bench, row) as worktrees:
        seen = (await worktrees.listed(str(repository)))[1].row
        assert (seen.state, seen.setup) == (WorktreeState.READY, SetupState.FAILED)
        assert "betcode worktree setup fix" in seen.setup_note


async def test_a_daemon_that_stops_ends_the_setup_and_the_next_one_says_so(
    bench: Bench, repository: Path, tmp_path: Path
) -> None:
    pid = tmp_path / "pid"
    command = ("sh", "-c", f"echo before; echo $$ > {pid}.new; mv {pid}.new {pid}; exec sleep 1000")
    settings = Settings(worktree=WorktreeSettings(setup_commands=(command,)))
    async with worktrees_of(bench.store, bench.engine, bench.paths.state_dir, settings) as worktrees:
        work = worktrees.create(CreateRequest(str(repository), "fix", create_branch=True))
        await becomes_true(pid.exists)
        row = (await worktrees.listed(str(repository)))[1].row
        assert (row.state, row.setup) == (WorktreeState.CREATING, SetupState.RUNNING)
    with pytest.raises(DaemonStopping):
        await work.result()
    assert process(int(pid.read_text())) is None
    async with next_daemon(bench, row) as worktrees:
        seen = (await worktrees.listed(str(repository)))[1].row
        assert (seen.state, seen.setup) == (WorktreeState.READY, SetupState.FAILED)
        assert seen.setup_note.startswith("The daemon ended while its setup ran: run")
