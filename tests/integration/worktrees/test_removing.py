"""Nothing is lost by accident: a removal says exactly what would be, and a forced one can be undone."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest

from betcode.domain.agents.commands import SendMessage
from betcode.domain.errors import WorktreeHasChanges, WorktreeNotFound, WorktreeUnusable
from betcode.domain.repositories.worktrees import WorktreeRow, WorktreeState
from betcode.domain.sessions.status import SessionStatus
from betcode.domain.store.rows import NewSession
from betcode.domain.values.identifiers import MessageId, new_session_id, time_ordered_uuid
from betcode.engine import ClientName
from betcode.worktrees import Contents
from betcode.worktrees.remove.delete_directory import delete
from betcode.worktrees.remove.removal_steps import Removal, RemovalStep
from integration.worktrees.conftest import Bench, row_of
from support.git.repositories import commit, git, make_repository
from support.patience import PATIENCE_S

pytestmark = pytest.mark.anyio


async def refusal(bench: Bench, row: WorktreeRow, *, force: bool = False) -> str:
    with pytest.raises((WorktreeHasChanges, WorktreeUnusable)) as refused:
        await bench.worktrees.remove(row.id, force=force)
    return refused.value.message


@pytest.mark.behaviour("worktree.remove.git")
async def test_a_clean_worktree_goes_and_its_branch_stays(bench: Bench, repository: Path, place: Path) -> None:
    row = await row_of(bench, place)
    (place / "ignored.log").write_text("x")
    (repository / ".git" / "info" / "exclude").write_text("*.log\n")
    done = await bench.worktrees.remove(row.id, force=False)
    assert (done.removed_id, done.sessions_closed) == ("", 0)
    assert not place.exists()
    assert [each.name for each in place.parent.iterdir() if "betcode" in each.name] == []
    assert [each.row.name for each in await bench.worktrees.listed(str(repository))] == ["shop"]
    assert "fix" not in git(repository, "worktree", "list")
    assert git(repository, "branch", "--list", "fix").strip() == "fix"


@pytest.mark.behaviour("worktree.remove.force")
async def test_a_refusal_says_exactly_what_would_be_lost(bench: Bench, repository: Path, place: Path) -> None:
    row = await row_of(bench, place)
    first = commit(place, {"login.py": "1\n"}, "fix login")
    second = commit(place, {"login.py": "2\n"}, "fix it again")
    (place / "login.py").write_text("3\n")
    (place / "README").write_text("staged\n")
    git(place, "add", "README")
    (place / "b c.txt").write_text("new\n")
    (place / "bad\x1b[31m\u202ename").write_text("new\n")
    said = await refusal(bench, row)
    assert said == (
        "The worktree fix has 2 changed files (README, login.py), 2 untracked files (b c.txt, bad\\x1b[31m\\u202ename) "
        f"and 2 commits that exist nowhere else ({second[:7]} fix it again, {first[:7]} fix login): "
        "commit and push them, or remove it by force (--force)"
    )
    found = await bench.worktrees.inspect(row.id)
    assert [(each.path, each.status) for each in found.changed] == [("README", "M "), ("login.py", " M")]
    assert (found.changed_count, found.untracked_count, found.unpushed_count) == (2, 2, 2)
    assert (await row_of(bench, place)).state is WorktreeState.READY
    assert (place / "login.py").read_text() == "3\n"


async def test_commits_that_another_branch_or_a_remote_has_do_not_keep_it(
    bench: Bench, repository: Path, place: Path, tmp_path: Path
) -> None:
    row = await row_of(bench, place)
    commit(place, {"a": "1"})
    git(repository, "update-ref", "refs/betcode/trash/other", "fix")
    git(place, "stash", "list")
    assert (await bench.worktrees.inspect(row.id)).unpushed_count == 1
    git(repository, "update-ref", "refs/remotes/origin/fix", "fix")
    assert (await bench.worktrees.inspect(row.id)).is_clean
    git(repository, "update-ref", "-d", "refs/remotes/origin/fix")
    git(repository, "branch", "copy", "fix")
    assert (await bench.worktrees.inspect(row.id)).is_clean
    git(repository, "branch", "-D", "copy")
    git(place, "checkout", "-q", "--detach")
    git(repository, "branch", "-D", "fix")
    assert (await bench.worktrees.inspect(row.id)).unpushed_count == 1


def _marked(place: Path) -> None:
    git(place, "update-index", "--assume-unchanged", "README")
    (place / "README").write_text("hidden from git\n")


def _conflict(place: Path) -> None:
    git(place, "checkout", "-q", "-b", "side")
    commit(place, {"README": "theirs\n"})
    git(place, "checkout", "-q", "fix")
    commit(place, {"README": "ours\n"})
    with pytest.raises(Exception, match="merge"):
        git(place, "merge", "side")


def _renamed(place: Path) -> None:
    git(place, "mv", "README", "READ ME")


def _intended(place: Path) -> None:
    (place / "later").write_text("x")
    git(place, "add", "-N", "later")


def _bisecting(place: Path) -> None:
    git(place, "bisect", "start")


@pytest.mark.parametrize(
    ("work", "told"),
    [
        (_marked, lambda found: [(each.path, each.status) for each in found.changed] == [("README", " M")]),
        (_conflict, lambda found: found.in_progress == "a merge" and found.changed[0].status == "UU"),
        (_renamed, lambda found: [(each.from_path, each.path) for each in found.changed] == [("README", "READ ME")]),
        (_intended, lambda found: [(each.path, each.status) for each in found.changed] == [("later", " A")]),
        (_bisecting, lambda found: found.in_progress == "a bisection"),
    ],
)
async def test_odd_changes_are_told_too(
    bench: Bench, place: Path, work: Callable[[Path], None], told: Callable[[Contents], bool]
) -> None:
    row = await row_of(bench, place)
    work(place)
    found = await bench.worktrees.inspect(row.id)
    assert told(found), found
    assert not found.is_clean
    assert await refusal(bench, row)


async def test_however_many_files_there_are_all_are_counted_and_some_listed(bench: Bench, place: Path) -> None:
    row = await row_of(bench, place)
    for directory in range(20):
        (place / f"d{directory}").mkdir()
        for number in range(150):
            (place / f"d{directory}" / f"{number}").touch()
    found = await bench.worktrees.inspect(row.id)
    assert (found.untracked_count, len(found.untracked)) == (3000, 1000)


@pytest.mark.behaviour("worktree.remove.closes-sessions")
async def test_idle_sessions_are_closed_and_counted(bench: Bench, place: Path) -> None:
    row = await row_of(bench, place)
    sessions = [
        await bench.engine.create(NewSession(new_session_id(), "demo", str(place), worktree_id=row.id))
        for _ in range(2)
    ]
    assert (await bench.worktrees.remove(row.id, force=False)).sessions_closed == 2
    assert [(await bench.engine.summary(each)).row.state.status for each in sessions] == [SessionStatus.CLOSED] * 2


async def test_a_session_at_work_keeps_it_unless_forced(bench: Bench, place: Path) -> None:
    row = await row_of(bench, place)
    session = await bench.engine.create(NewSession(new_session_id(), "demo", str(place), worktree_id=row.id))
    await bench.engine.submit(session, SendMessage(MessageId(time_ordered_uuid()), "permission"), ClientName("me"))
    with anyio.fail_after(PATIENCE_S):
        while (await bench.engine.row(session)).state.status is not SessionStatus.ACTIVE:  # noqa: ASYNC110
            await anyio.sleep(0.01)
    assert f"A turn is open in 1 session ({session})" in await refusal(bench, row)
    assert (await bench.worktrees.remove(row.id, force=True)).sessions_closed == 1
    assert not place.exists()


async def test_what_is_written_while_sessions_are_closed_is_not_lost(bench: Bench, place: Path) -> None:
    row = await row_of(bench, place)

    def late(step: str) -> None:
        if step == "removal-sessions-closed":
            (place / "last words").write_text("x")

    bench.faults.append(late)
    assert "1 untracked file (last words)" in await refusal(bench, row)
    assert (place / "last words").read_text() == "x"
    assert (await row_of(bench, place)).state is WorktreeState.READY


@pytest.mark.parametrize("force", [False, True])
async def test_what_is_written_at_the_very_last_moment_is_not_lost(bench: Bench, place: Path, force: bool) -> None:
    """A process that works in the directory writes into it after it was moved."""
    row = await row_of(bench, place)
    if force:
        (place / "known").write_text("x")

    def late(step: str) -> None:
        if step == "removal-aside":
            bench.faults.clear()
            (aside,) = place.parent.glob(".betcode-removing-*")
            (aside / "last words").write_text("x")

    bench.faults.append(late)
    if not force:
        assert "1 untracked file (last words)" in await refusal(bench, row)
        assert (place / "last words").read_text() == "x"
        return
    done = await bench.worktrees.remove(row.id, force=True)
    await bench.worktrees.restore(str(place.parent / "shop"), done.removed_id, "")
    assert sorted(each.name for each in place.iterdir()) == [".git", "README", "known", "last words"]


async def test_the_repository_itself_and_locked_ones_and_nests_stay(
    bench: Bench, repository: Path, place: Path
) -> None:
    main = await row_of(bench, repository)
    assert "is the repository itself" in await refusal(bench, main, force=True)
    row = await row_of(bench, place)
    git(repository, "worktree", "lock", "--reason", "on a stick", str(place))
    assert "is locked (on a stick): unlock it first" in await refusal(bench, row, force=True)
    git(repository, "worktree", "unlock", str(place))
    git(repository, "worktree", "add", "-q", "-b", "inner", str(place / "inner"))
    assert f"remove {place / 'inner'} first" in await refusal(bench, row, force=True)
    git(repository, "worktree", "remove", str(place / "inner"))
    git(place, "init", "-q", "vendor")
    commit(place / "vendor", {"a": "1"})
    assert "move vendor/ elsewhere" in await refusal(bench, row, force=True)
    assert (place / "vendor" / "a").exists()


@pytest.mark.parametrize("what", ["repository", "home", "itself"])
async def test_what_git_ignores_and_is_no_part_of_it_keeps_it(
    bench: Bench, place: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    git(place, "config", "core.excludesFile", str(place.parent / "all"))
    (place.parent / "all").write_text("*\n")
    inner = place if what == "itself" else place / "deep" / "other"
    if what == "repository":
        await bench.worktrees.listed(str(make_repository(inner)))
    else:
        inner.mkdir(parents=True, exist_ok=True)
        monkeypatch.setenv("HOME", str(inner))
    row = await row_of(bench, place)
    for force in (False, True):
        with pytest.raises(WorktreeUnusable, match="not part of it"):
            await bench.worktrees.remove(row.id, force=force)
    assert inner.exists()


async def test_one_that_is_gone_is_forgotten_by_git_and_others_are_not(
    bench: Bench, repository: Path, place: Path, tmp_path: Path
) -> None:
    git(repository, "worktree", "add", "-q", "-b", "other", str(tmp_path / "other"))
    row = await row_of(bench, place)
    shutil.rmtree(place)
    shutil.rmtree(tmp_path / "other")
    await bench.worktrees.remove(row.id, force=False)
    assert "/other" in git(repository, "worktree", "list")
    assert "/fix" not in git(repository, "worktree", "list")
    assert [each.row.name for each in await bench.worktrees.listed(str(repository))] == ["shop", "other"]


async def test_what_only_git_knew_of_one_that_is_gone_is_kept(bench: Bench, repository: Path, place: Path) -> None:
    row = await row_of(bench, place)
    git(place, "checkout", "-q", "--detach")
    lost = commit(place, {"a": "1"}, "nowhere else")
    (place / "staged").write_text("x")
    git(place, "add", "staged")
    shutil.rmtree(place)
    assert f"1 changed file (staged) and 1 commit that exists nowhere else ({lost[:7]}" in await refusal(bench, row)
    done = await bench.worktrees.remove(row.id, force=True)
    back = await bench.worktrees.restore(str(repository), done.removed_id, "")
    assert (back.row.id, git(place, "rev-parse", "HEAD")) == (row.id, lost)
    assert git(place, "status", "--porcelain") == "A  staged"
    assert (place / "staged").read_text() == "x"


async def test_files_that_git_does_not_know_any_more_are_left_alone(
    bench: Bench, repository: Path, place: Path
) -> None:
    row = await row_of(bench, place)
    (place / ".git").unlink()
    assert "git worktree repair" in await refusal(bench, row, force=True)
    assert (place / "README").exists()
    await bench.worktrees.forget(row.id)
    assert (place / "README").exists()
    assert [each.row.name for each in await bench.worktrees.listed(str(repository))] == ["shop"]


async def test_only_what_is_gone_is_forgotten(bench: Bench, place: Path) -> None:
    row = await row_of(bench, place)
    with pytest.raises(WorktreeUnusable, match="exists: remove it instead"):
        await bench.worktrees.forget(row.id)
    shutil.rmtree(place)
    await bench.worktrees.forget(row.id)
    with pytest.raises(WorktreeNotFound):
        await bench.worktrees.forget(row.id)


async def test_directories_that_are_made_read_only_go_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As some tools make them. The first try fails here for everybody, also for who may do everything."""
    deep = tmp_path / "top" / "mod" / "deep"
    deep.mkdir(parents=True)
    (deep / "file").write_text("x")
    (deep / "link").symlink_to(tmp_path)
    program = tmp_path / "bin" / "rm"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\ntest -w "$3" && stat -c %a {deep} | grep -q 7.. || exit 1\nexec /bin/rm "$@"\n')
    program.chmod(0o755)
    deep.chmod(0o555)
    deep.parent.chmod(0o055)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    await delete(str(tmp_path / "top"))
    assert [each.name for each in tmp_path.iterdir()] == ["bin"]


async def test_a_removal_that_could_not_be_taken_back_is_begun_anew(bench: Bench, place: Path) -> None:
    row = await row_of(bench, place)
    aside = place.parent / ".betcode-removing-x"
    begun = Removal("x", RemovalStep.BEGUN, str(aside)).written()
    await bench.worktrees.registry.change(row.id, state=WorktreeState.REMOVING, removal=begun)
    (place / "notes").write_text("x")
    place.rename(aside)
    assert "1 untracked file (notes)" in await refusal(bench, row)
    assert (place / "notes").exists()
    assert (await row_of(bench, place)).state is WorktreeState.READY


async def test_what_cannot_be_deleted_is_told_and_tried_again(
    bench: Bench, repository: Path, place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = await row_of(bench, place)
    (place / "notes").write_text("x")
    _failing_rm(tmp_path / "bin", monkeypatch)
    assert "cannot be deleted (cannot remove 'x': Operation not permitted)" in await refusal(bench, row, force=True)
    left = await row_of(bench, place)
    assert (left.state, left.id) == (WorktreeState.REMOVING, row.id)
    assert "fix that, and remove it again" in left.trouble
    monkeypatch.undo()
    done = await bench.worktrees.remove(row.id, force=False)
    assert not list(tmp_path.glob(".betcode*"))
    assert [each.id for each in await bench.worktrees.removed(str(repository))] == [done.removed_id]


def _failing_rm(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory.mkdir()
    (directory / "rm").write_text("#!/bin/sh\necho \"rm: cannot remove 'x': Operation not permitted\" >&2\nexit 1\n")
    (directory / "rm").chmod(0o755)
    monkeypatch.setenv("PATH", f"{directory}:{os.environ['PATH']}")


async def test_a_file_that_cannot_be_kept_keeps_the_worktree(bench: Bench, place: Path) -> None:
    row = await row_of(bench, place)
    (place / "notes").write_text("x")
    kept = bench.paths.state_dir / "trash"
    kept.write_text("in the way")
    with pytest.raises(Exception, match="cannot be saved, and was not removed"):
        await bench.worktrees.remove(row.id, force=True)
    assert (place / "notes").read_text() == "x"
    assert (await row_of(bench, place)).state is WorktreeState.READY


async def test_a_caller_that_leaves_does_not_stop_it(bench: Bench, place: Path) -> None:
    row = await row_of(bench, place)

    async def leave(scope: anyio.CancelScope) -> None:
        with scope:
            await bench.worktrees.remove(row.id, force=False)

    async with anyio.create_task_group() as tasks:
        scope = anyio.CancelScope()
        bench.faults.append(lambda _: scope.cancel())
        tasks.start_soon(leave, scope)
    with anyio.fail_after(PATIENCE_S):
        while await bench.store.worktrees.worktree(row.id) is not None:  # noqa: ASYNC110
            await anyio.sleep(0.01)
    assert not place.exists()
