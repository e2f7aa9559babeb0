"""Worktrees are made by git, whole or not at all, and known under a name and a path of their own."""

import os
import shutil
from functools import partial
from pathlib import Path

import anyio
import pytest

from betcode.domain.errors import (
    BetcodeError,
    BranchNotFound,
    GitFailed,
    InvalidRequest,
    StorageDegraded,
    WorktreeExists,
)
from betcode.domain.repositories.worktrees import SetupState, WorktreeOrigin, WorktreeState
from betcode.worktrees import CreateRequest, SeenWorktree
from integration.worktrees.conftest import Bench
from support.git.repositories import commit, define_filter, git, make_repository
from support.patience import PATIENCE_S
from support.storage.disk import small_disk

pytestmark = pytest.mark.anyio


async def made(bench: Bench, repository: Path, branch: str, **more: object) -> SeenWorktree:
    with anyio.fail_after(PATIENCE_S):
        return await bench.worktrees.create(CreateRequest(str(repository), branch, **more)).result()  # type: ignore[arg-type]


async def names(bench: Bench, repository: Path) -> list[str]:
    return [each.row.name for each in await bench.worktrees.listed(str(repository))]


@pytest.mark.behaviour("worktree.create.git", "worktree.create.existing-branch", "worktree.create.path")
async def test_an_existing_branch_is_checked_out_beside_the_repository(
    bench: Bench, repository: Path, tmp_path: Path
) -> None:
    git(repository, "branch", "feature/auth")
    seen = await made(bench, repository, "feature/auth")
    row = seen.row
    assert (row.name, row.path) == ("feature-auth", str(tmp_path / "shop-feature-auth"))
    assert (row.state, row.setup, row.origin) == (WorktreeState.READY, SetupState.NONE, WorktreeOrigin.MADE)
    assert git(Path(row.path), "symbolic-ref", "--short", "HEAD") == "feature/auth"
    assert (Path(row.path) / "README").read_text() == "hello\n"
    assert row.path in git(repository, "worktree", "list")
    assert not seen.git or not seen.git.is_locked
    assert (row.base, row.made_branch) == ("", False)


@pytest.mark.behaviour("worktree.create.existing-branch")
async def test_a_branch_that_is_not_there_is_refused_with_what_to_do(bench: Bench, repository: Path) -> None:
    with pytest.raises(BranchNotFound, match="create it with --new"):
        await made(bench, repository, "nowhere")
    git(repository, "tag", "v1")
    with pytest.raises(BranchNotFound):
        await made(bench, repository, "v1")
    assert await names(bench, repository) == ["shop"]


@pytest.mark.behaviour("worktree.create.new-branch")
@pytest.mark.parametrize("base", ["", "main", "v1", "HEAD~1"])
async def test_a_new_branch_begins_at_its_base_which_is_kept_as_a_commit(
    bench: Bench, repository: Path, base: str
) -> None:
    first = git(repository, "rev-parse", "HEAD")
    git(repository, "tag", "-a", "-m", "one", "v1")
    second = commit(repository, {"more": "1"})
    row = (await made(bench, repository, "fix", create_branch=True, base=base)).row
    wanted = {"": second, "main": second, "v1": first, "HEAD~1": first}[base]
    assert (row.base, row.made_branch) == (wanted, True)
    assert git(Path(row.path), "rev-parse", "HEAD", "fix").split() == [wanted, wanted]


async def test_the_base_is_what_a_detached_main_worktree_has_checked_out(bench: Bench, repository: Path) -> None:
    first = git(repository, "rev-parse", "HEAD")
    commit(repository, {"more": "1"})
    git(repository, "checkout", "-q", "--detach", first)
    assert (await made(bench, repository, "fix", create_branch=True)).row.base == first


async def test_a_branch_that_one_remote_has_is_made_and_tracks_it(bench: Bench, tmp_path: Path) -> None:
    there = make_repository(tmp_path / "there")
    git(there, "branch", "topic")
    here = tmp_path / "here"
    git(tmp_path, "clone", "-q", str(there), str(here))
    row = (await made(bench, here, "topic")).row
    assert git(Path(row.path), "rev-parse", "--abbrev-ref", "topic@{upstream}") == "origin/topic"
    assert row.base == git(there, "rev-parse", "topic")

    git(here, "remote", "add", "fork", str(there))
    git(there, "branch", "both")
    git(here, "fetch", "-q", "--all")
    with pytest.raises(BranchNotFound, match=r"several remotes have one \(fork, origin\).*--base fork/both"):
        await made(bench, here, "both")
    git(here, "config", "checkout.defaultRemote", "origin")
    row = (await made(bench, here, "both")).row
    assert git(Path(row.path), "rev-parse", "--abbrev-ref", "both@{upstream}") == "origin/both"


async def test_a_bare_repository_has_worktrees_beside_it(bench: Bench, repository: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "--bare", str(repository), "bare.git")
    row = (await made(bench, tmp_path / "bare.git", "fix/it", create_branch=True)).row
    assert (row.path, row.name) == (str(tmp_path / "bare-fix-it"), "fix-it")
    assert row.base == git(repository, "rev-parse", "main")


async def test_a_repository_without_a_commit_says_what_is_missing(bench: Bench, tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "-b", "main", "empty")
    with pytest.raises(BranchNotFound, match="make the first commit"):
        await made(bench, tmp_path / "empty", "fix", create_branch=True)


async def test_odd_names_and_shallow_repositories_work(bench: Bench, repository: Path, tmp_path: Path) -> None:
    commit(repository, {"more": "1"})
    odd = tmp_path / "ein Läden ☃"
    git(tmp_path, "clone", "-q", "--depth=1", f"file://{repository}", str(odd))
    row = (await made(bench, odd, "bücher/☃", create_branch=True, path=str(tmp_path / "mit Lücke"), name="neu")).row
    assert (row.name, row.path) == ("neu", str(tmp_path / "mit Lücke"))
    assert (Path(row.path) / "more").exists()


async def test_the_checkout_may_fetch_what_a_partial_clone_lacks_and_sees_no_keys(
    home: Path, bench: Bench, repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", "x")
    define_filter(home, "look", smudge=f"env > '{tmp_path}/seen'; cat")
    commit(repository, {".gitattributes": "look filter=look\n", "look": "1"})
    row = (await made(bench, repository, "fix", create_branch=True)).row
    assert (Path(row.path) / "look").read_text() == "1"
    seen = dict(line.split("=", 1) for line in (tmp_path / "seen").read_text().splitlines())
    assert (seen["GIT_NO_LAZY_FETCH"], seen["GIT_ALLOW_PROTOCOL"]) == ("0", "https:ssh")
    assert "GITHUB_TOKEN" not in seen


async def test_submodules_are_left_unpopulated(bench: Bench, repository: Path, tmp_path: Path) -> None:
    inner = make_repository(tmp_path / "inner")
    git(repository, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner), "inner")
    git(repository, "commit", "-q", "-m", "with a submodule")
    row = (await made(bench, repository, "fix", create_branch=True)).row
    assert list((Path(row.path) / "inner").iterdir()) == []


async def test_a_name_path_or_base_that_is_none_is_refused_and_changes_nothing(bench: Bench, repository: Path) -> None:
    before = git(repository, "for-each-ref")
    wrong = [{"name": name} for name in ("../x", "-", "x y", "--force", "n" * 300)]
    wrong += [{"path": path} for path in ("beside", "~/x", "/tmp/a\nb", "/" + "p" * 4000)]
    wrong += [{"base": base} for base in ("--output=x", "main..other", "a b")]
    for words in wrong:
        with pytest.raises(InvalidRequest):
            await made(bench, repository, "fix", create_branch=True, **words)
    with pytest.raises(InvalidRequest, match="add --new"):
        await made(bench, repository, "fix", base="main")
    assert git(repository, "for-each-ref") == before
    assert await bench.store.worktrees.worktrees() == []


@pytest.mark.behaviour("worktree.create.duplicate", "error.status.already-exists")
async def test_a_name_path_or_branch_that_is_taken_is_refused_and_stays_as_it_was(
    bench: Bench, repository: Path, tmp_path: Path
) -> None:
    there = (await made(bench, repository, "fix", create_branch=True)).row
    for branch, more, words in (
        ("other", {"name": "fix", "create_branch": True}, "A worktree fix already exists at"),
        ("other", {"path": there.path, "create_branch": True}, "already exists with the name fix"),
        ("fix", {"name": "x", "path": str(tmp_path / "x")}, f"checked out at {there.path}"),
        ("main", {}, f"checked out at {repository}"),
        ("fix", {"name": "x", "path": str(tmp_path / "x"), "create_branch": True}, "omit --new"),
    ):
        with pytest.raises(WorktreeExists, match=words):
            await made(bench, repository, branch, **more)
    (tmp_path / "shop-other").mkdir()
    (tmp_path / "shop-other" / "mine").touch()
    with pytest.raises(WorktreeExists, match="already exists"):
        await made(bench, repository, "other", create_branch=True)
    assert (tmp_path / "shop-other" / "mine").exists()
    assert git(repository, "branch", "--format=%(refname:short)").split() == ["fix", "main"]
    assert [each.row for each in await bench.worktrees.listed(str(repository))][1] == there


async def test_a_path_is_resolved_before_it_is_judged(bench: Bench, repository: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(repository / ".git")
    wanted = partial(made, bench, repository, "fix", create_branch=True)
    for path in (tmp_path / "link" / "x", repository / ".git" / "x", repository / ".git"):
        with pytest.raises(InvalidRequest, match="git's own files"):
            await wanted(path=str(path))
    with pytest.raises(InvalidRequest, match="create it first"):
        await wanted(path=str(tmp_path / "no" / "where"))
    (tmp_path / "file").touch()
    with pytest.raises(WorktreeExists):
        await wanted(path=str(tmp_path / "file"))
    (tmp_path / "through").symlink_to(tmp_path)
    assert (await wanted(path=str(tmp_path / "through" / "x" / ".." / "y"))).row.path == str(tmp_path / "y")


async def test_a_parent_that_cannot_be_written_to_is_refused(bench: Bench, repository: Path, tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", 1) as disk:
        await anyio.run_process(["mount", "-o", "remount,ro", str(disk)])
        with pytest.raises(InvalidRequest, match="is not writable"):
            await made(bench, repository, "fix", create_branch=True, path=str(disk / "fix"))
    assert "fix" not in git(repository, "branch")


async def test_a_worktree_may_stand_on_another_file_system(bench: Bench, repository: Path, tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", 4) as disk:
        row = (await made(bench, repository, "fix", create_branch=True, path=str(disk / "fix"))).row
        assert (Path(row.path) / "README").exists()


async def test_a_disk_that_is_full_half_way_leaves_nothing(bench: Bench, repository: Path, tmp_path: Path) -> None:
    (repository / "large").write_bytes(os.urandom(3 * 1024 * 1024))
    commit(repository, {"small": "1"})
    with small_disk(tmp_path / "disk", 1) as disk:
        with pytest.raises((StorageDegraded, GitFailed), match=r"No space left|unable to write"):
            await made(bench, repository, "fix", create_branch=True, path=str(disk / "fix"))
        assert list(disk.iterdir()) == []
    assert git(repository, "branch", "--format=%(refname:short)") == "main"
    assert git(repository, "worktree", "list").count("\n") == 0
    assert await names(bench, repository) == ["shop"]


async def test_of_many_at_once_one_has_the_name_and_the_others_are_told(bench: Bench, repository: Path) -> None:
    ends: list[str] = []

    async def one(branch: str, name: str) -> None:
        try:
            await made(bench, repository, branch, name=name, create_branch=True)
            ends.append("made")
        except BetcodeError as trouble:
            ends.append(trouble.code)

    async with anyio.create_task_group() as tasks:
        for number in range(4):
            tasks.start_soon(one, "same", "same")
            tasks.start_soon(one, f"own-{number}", "")
    assert sorted(ends) == ["WORKTREE_EXISTS"] * 3 + ["made"] * 5
    assert sorted(await names(bench, repository)) == ["own-0", "own-1", "own-2", "own-3", "same", "shop"]
    assert git(repository, "worktree", "list").count("\n") == 5


async def test_two_repositories_cannot_have_the_same_path(bench: Bench, repository: Path, tmp_path: Path) -> None:
    other = make_repository(tmp_path / "other")
    ends: list[str] = []

    async def one(where: Path) -> None:
        try:
            ends.append((await made(bench, where, "fix", create_branch=True, path=str(tmp_path / "fix"))).row.path)
        except WorktreeExists:
            ends.append("told")

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(one, repository)
        tasks.start_soon(one, other)
    assert sorted(ends) == [str(tmp_path / "fix"), "told"]
    assert sum("fix" in git(each, "branch") for each in (repository, other)) == 1


async def test_a_worktree_that_is_gone_comes_back_under_its_id(bench: Bench, repository: Path, tmp_path: Path) -> None:
    before = (await made(bench, repository, "fix", create_branch=True)).row
    (tmp_path / "shop-fix").rename(tmp_path / "away")
    for _ in range(2):  # once while git still knows it, once after it has been told to forget it
        back = (await made(bench, repository, "fix")).row
        assert (back.id, back.state, back.path) == (before.id, WorktreeState.READY, before.path)
        shutil.rmtree(back.path)
        git(repository, "worktree", "prune")
    assert (await bench.worktrees.listed(str(repository)))[1].row.state is WorktreeState.STALE


async def test_what_was_asked_for_is_made_also_when_the_caller_leaves(bench: Bench, repository: Path) -> None:
    with anyio.CancelScope() as scope:
        work = bench.worktrees.create(CreateRequest(str(repository), "fix", create_branch=True))
        scope.cancel()
        await work.result()
    with anyio.fail_after(PATIENCE_S):
        row = (await work.result()).row
    assert row.state is WorktreeState.READY
