"""Others are at the same worktree at the same moment: nothing is lost by that, and nobody undoes what another did."""

import shutil
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from betcode.config.settings import Settings, WorktreeSettings
from betcode.domain.errors import GitFailed, SetupFailed, WorktreeHasChanges, WorktreeUnusable
from betcode.domain.repositories.worktrees import WorktreeState
from betcode.worktrees.create.plan import CreateRequest
from betcode.worktrees.remove.expiry import expire
from betcode.worktrees.remove.removal_steps import Removal, RemovalStep
from integration.worktrees.conftest import Bench, row_of
from support.git.repositories import commit, git
from support.patience import PATIENCE_S
from support.storage.disk import small_disk

pytestmark = pytest.mark.anyio


def at(bench: Bench, step: str, do: Callable[[], object]) -> None:
    """Once, when that step is reached."""

    def reached(name: str) -> None:
        if name == step:
            bench.faults.clear()
            do()

    bench.faults.append(reached)


async def test_what_is_written_between_two_looks_is_not_lost(bench: Bench, place: Path) -> None:
    row = await row_of(bench, place)
    at(bench, "removal-looked", lambda: (place / "late").write_text("words"))
    with pytest.raises(WorktreeHasChanges, match="late"):
        await bench.worktrees.remove(row.id, force=False)
    assert (place / "late").read_text() == "words"


async def test_what_is_kept_is_not_collected_before_a_ref_leads_to_it(
    bench: Bench, repository: Path, place: Path
) -> None:
    row = await row_of(bench, place)
    (place / "new").write_text("words")
    (place / "README").write_text("staged\n")
    git(place, "add", "README")
    (place / "README").write_text("changed again\n")
    at(bench, "removal-written", lambda: git(repository, "gc", "-q", "--prune=now"))
    done = await bench.worktrees.remove(row.id, force=True)
    git(repository, "gc", "-q", "--prune=now")
    git(repository, "fsck", "--connectivity-only")
    await bench.worktrees.restore(str(repository), done.removed_id, "")
    assert ((place / "new").read_text(), (place / "README").read_text()) == ("words", "changed again\n")
    assert git(place, "show", ":README") == "staged"
    assert not list((repository / ".git" / "objects" / "pack").glob("*.keep"))


async def test_a_directory_that_is_made_anew_meanwhile_hides_nothing(bench: Bench, place: Path) -> None:
    row = await row_of(bench, place)
    (place / "new").write_text("words")

    def in_the_way() -> None:
        place.mkdir()
        (place / "of-an-editor").touch()
        raise GitFailed("It could not be looked at")

    at(bench, "removal-aside", in_the_way)
    with pytest.raises(WorktreeUnusable, match="is in the way"):
        await bench.worktrees.remove(row.id, force=True)
    (aside,) = place.parent.glob(".betcode-removing-*")
    assert (aside / "new").read_text() == "words"
    assert str(aside) in (await row_of(bench, place)).trouble
    (place / "of-an-editor").unlink()
    done = await bench.worktrees.remove(row.id, force=True)
    assert done.removed_id
    assert not list(place.parent.glob(".betcode-removing-*"))
    assert not place.exists()


async def test_what_somebody_wrote_meanwhile_outlives_a_setup_that_is_rolled_back(
    bench: Bench, repository: Path, tmp_path: Path
) -> None:
    script = ("sh", "-c", "echo words > of-somebody; exit 1")
    bench.worktrees.use(Settings(worktree=WorktreeSettings(setup_commands=(script,))))
    wanted = CreateRequest(str(repository), "fix", create_branch=True, roll_back=True)
    with pytest.raises(SetupFailed):
        await bench.worktrees.create(wanted).result()
    assert not (tmp_path / "shop-fix").exists()
    (kept,) = await bench.worktrees.removed(str(repository))
    await bench.worktrees.restore(str(repository), kept.id, "")
    assert (tmp_path / "shop-fix" / "of-somebody").read_text() == "words\n"


async def test_one_that_is_being_restored_is_not_removed(bench: Bench, repository: Path, place: Path) -> None:
    row = await row_of(bench, place)
    (place / "new").write_text("words")
    done = await bench.worktrees.remove(row.id, force=True)
    added = anyio.Event()
    at(bench, "restore-added", added.set)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(bench.worktrees.restore, str(repository), done.removed_id, "")
        with anyio.fail_after(PATIENCE_S):
            await added.wait()
        with pytest.raises(WorktreeUnusable, match="being removed or restored"):
            await bench.worktrees.remove(row.id, force=True)
    assert (place / "new").read_text() == "words"
    assert (await row_of(bench, place)).state is WorktreeState.READY


async def test_what_an_earlier_daemon_began_and_somebody_has_ended_is_left_alone(bench: Bench, place: Path) -> None:
    row = await row_of(bench, place)
    for step in (RemovalStep.GOING, RemovalStep.BEGUN):
        as_it_was = Removal("01a1e0ad-b34e-7b98-8fdc-577ef4a1c5aa", step).written()
        await bench.worktrees.recover_removals([replace(row, state=WorktreeState.REMOVING, removal=as_it_was)])
    assert place.exists()
    assert await row_of(bench, place) == row


async def test_one_made_in_the_place_of_one_that_is_gone_loses_nothing_of_it(
    bench: Bench, repository: Path, tmp_path: Path
) -> None:
    wanted = CreateRequest(str(repository), "fix", create_branch=True, not_set_up="no")
    path = Path((await bench.worktrees.create(wanted).result()).row.path)
    git(path, "checkout", "-q", "--detach")
    only_here = commit(path, {"a": "1\n"})
    (path / "b").write_text("staged\n")
    git(path, "add", "b")
    shutil.rmtree(path)
    await bench.worktrees.create(replace(wanted, create_branch=False)).result()
    (kept,) = await bench.worktrees.removed(str(repository))
    git(repository, "gc", "-q", "--prune=now")
    assert only_here in git(repository, "rev-list", kept.ref)
    assert git(repository, "show", f"{kept.ref}:b") == "staged"


async def test_a_branch_that_one_that_is_gone_still_has_keeps_nothing_from_being_restored(
    bench: Bench, repository: Path, place: Path, tmp_path: Path
) -> None:
    row = await row_of(bench, place)
    (place / "new").write_text("words")
    done = await bench.worktrees.remove(row.id, force=True)
    git(repository, "worktree", "add", "-q", str(tmp_path / "other"), "fix")
    shutil.rmtree(tmp_path / "other")
    back = await bench.worktrees.restore(str(repository), done.removed_id, "")
    assert (place / "new").read_text() == "words"
    assert "HEAD is detached" in back.row.trouble


async def test_what_is_mounted_in_a_worktree_is_not_deleted_with_it(
    bench: Bench, repository: Path, place: Path
) -> None:
    (repository / ".git" / "info" / "exclude").write_text("da ta\n")
    row = await row_of(bench, place)
    with small_disk(place / "da ta", 1) as disk:
        (disk / "of-others").write_text("words")
        with pytest.raises(WorktreeUnusable, match=f"{disk} is a mount point"):
            await bench.worktrees.remove(row.id, force=True)
        assert (disk / "of-others").read_text() == "words"


async def test_a_kept_one_whose_commit_somebody_deleted_does_not_hide_the_others(
    bench: Bench, repository: Path, place: Path, tmp_path: Path
) -> None:
    (place / "new").write_text("words")
    done = await bench.worktrees.remove((await row_of(bench, place)).id, force=True)
    broken = repository / ".git" / "refs" / "betcode" / "trash" / "01a1e0ad-b34e-7b98-8fdc-577ef4a1c5aa"
    broken.write_text("1" * 40 + "\n")
    assert [each.id for each in await bench.worktrees.removed(str(repository))] == [done.removed_id]
    await bench.worktrees.restore(str(repository), done.removed_id, "")
    assert (place / "new").read_text() == "words"


async def test_private_files_that_say_nothing_of_themselves_go_by_their_age(bench: Bench) -> None:
    left = bench.paths.state_dir / "trash" / "of-a-daemon-that-was-killed"
    (left / "work").mkdir(parents=True)
    context, trash = bench.worktrees._context, bench.worktrees._trash
    await expire(context, trash, time.time_ns())
    assert left.exists()
    await expire(context, trash, time.time_ns() + trash.keep_ns + 10**9)
    assert not left.exists()


async def test_a_setup_that_removes_its_own_worktree_leaves_no_row_of_one_that_is_there(
    bench: Bench, repository: Path, tmp_path: Path
) -> None:
    script = ("sh", "-c", 'cd / && git -C "$BETCODE_REPOSITORY" worktree remove --force "$WORKTREE_PATH"')
    bench.worktrees.use(Settings(worktree=WorktreeSettings(setup_commands=(script,))))
    seen = await bench.worktrees.create(CreateRequest(str(repository), "fix", create_branch=True)).result()
    assert seen.row.state is WorktreeState.STALE
    assert not (tmp_path / "shop-fix").exists()


async def test_a_repository_that_goes_during_a_removal_leaves_the_files_and_says_where(
    bench: Bench, repository: Path, place: Path
) -> None:
    """What was kept of them in the repository has gone with it."""
    row = await row_of(bench, place)
    (place / "notes").write_text("only here\n")
    at(bench, "removal-going", lambda: shutil.rmtree(repository))
    with pytest.raises(WorktreeUnusable, match="The repository is missing, and the files of fix are at ") as told:
        await bench.worktrees.remove(row.id, force=True)
    aside = Path(told.value.message.split(" are at ")[1].split(": copy")[0])
    assert (aside / "notes").read_text() == "only here\n"
    shutil.rmtree(aside)
    await bench.worktrees.remove(row.id, force=False)
    assert await bench.store.worktrees.worktree(row.id) is None
