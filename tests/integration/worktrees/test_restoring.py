"""A removed worktree comes back with its commits and its changes, and what was kept is forgotten then."""

import hashlib
import subprocess
from pathlib import Path

import pytest

from betcode.domain.errors import InvalidRequest, WorktreeExists, WorktreeNotFound
from betcode.domain.repositories.worktrees import WorktreeRow, WorktreeState
from betcode.domain.store.rows import NewSession
from betcode.domain.values.identifiers import new_session_id
from integration.worktrees.conftest import Bench, gone, row_of
from support.git.repositories import commit, git, make_repository
from support.git.working_tree import look

pytestmark = pytest.mark.anyio


async def removed(bench: Bench, place: Path) -> tuple[WorktreeRow, str]:
    """It has a change, and is removed by force."""
    row = await row_of(bench, place)
    (place / "notes").write_text("mine\n")
    return row, (await bench.worktrees.remove(row.id, force=True, by="me")).removed_id


async def test_what_was_removed_is_listed_with_its_facts(bench: Bench, repository: Path, place: Path) -> None:
    head = commit(place, {"a": "1"})
    _, identifier = await removed(bench, place)
    (found,) = await bench.worktrees.removed("")
    assert (found.id, found.text("name"), found.text("head_branch")) == (identifier, "fix", "fix")
    assert (found.text("path"), found.text("head"), found.text("by")) == (str(place), head, "me")
    assert (found.number("changed"), found.number("untracked"), found.number("unpushed")) == (0, 1, 1)
    assert git(repository, "log", "-1", "--format=%an <%ae>", found.ref) == "betcode <betcode@localhost>"
    assert git(repository, "show", f"{found.ref}:notes") == "mine"
    assert git(repository, "rev-parse", f"{found.ref}^1") == head


async def test_sessions_are_listed_with_it_again(bench: Bench, repository: Path, place: Path) -> None:
    row = await row_of(bench, place)
    session = await bench.engine.create(NewSession(new_session_id(), "demo", str(place), worktree_id=row.id))
    _, identifier = await removed(bench, place)
    back = await bench.worktrees.restore(str(repository), identifier, "")
    assert (back.row.id, back.row.state, back.sessions.last) == (row.id, WorktreeState.READY, session)
    assert not await bench.worktrees.removed(str(repository))
    assert not list((bench.paths.state_dir / "trash").iterdir())


async def test_it_comes_back_by_its_name_to_another_place(bench: Bench, repository: Path, place: Path) -> None:
    await removed(bench, place)
    place.mkdir()
    (place / "taken").touch()
    with pytest.raises(WorktreeExists, match="restore to another path"):
        await bench.worktrees.restore(str(repository), "fix", "")
    with pytest.raises(InvalidRequest, match="git's own files"):
        await bench.worktrees.restore(str(repository), "fix", str(repository / ".git" / "fix"))
    elsewhere = place.parent / "else where"
    back = await bench.worktrees.restore(str(repository), "fix", str(elsewhere))
    assert (back.row.path, (elsewhere / "notes").read_text()) == (str(elsewhere), "mine\n")
    with pytest.raises(WorktreeNotFound):
        await bench.worktrees.restore(str(repository), "fix", "")


async def test_a_name_that_is_taken_or_means_two_is_refused(bench: Bench, repository: Path, place: Path) -> None:
    _, first = await removed(bench, place)
    git(repository, "worktree", "add", "-q", "--detach", str(place))
    with pytest.raises(WorktreeExists, match="called fix already exists: remove that one first"):
        await bench.worktrees.restore(str(repository), first, str(place.parent / "x"))
    assert not (place.parent / "x").exists()
    await removed(bench, place)
    with pytest.raises(InvalidRequest, match="Several removed worktrees were named fix"):
        await bench.worktrees.restore(str(repository), "fix", "")


@pytest.mark.parametrize(
    ("meanwhile", "branch", "says"),
    [
        ("gone", "fix", ""),
        ("moved", "", "The branch fix has moved since: HEAD is detached at"),
        ("checked out", "", "The branch fix is checked out in"),
        ("in the way", "", "The branch fix conflicts with an existing one"),
    ],
)
async def test_a_branch_that_is_not_what_it_was(
    bench: Bench, repository: Path, place: Path, meanwhile: str, branch: str, says: str
) -> None:
    head = commit(place, {"a": "1"})
    _, identifier = await removed(bench, place)
    match meanwhile:
        case "gone":
            git(repository, "branch", "-D", "fix")
        case "moved":
            git(repository, "branch", "-f", "fix", "main")
        case "checked out":
            git(repository, "checkout", "-q", "fix")
        case _:
            git(repository, "branch", "-D", "fix")
            git(repository, "branch", "fix/more")
    now = git(repository, "for-each-ref", "refs/heads")
    back = await bench.worktrees.restore(str(repository), identifier, "")
    assert (git(place, "rev-parse", "HEAD"), back.row.branch) == (head, branch)
    assert says in back.row.trouble if says else back.row.trouble == ""
    assert meanwhile == "gone" or git(repository, "for-each-ref", "refs/heads") == now
    assert git(place, "status", "--porcelain") == "?? notes"


async def test_a_merge_with_conflicts_goes_on_where_it_was(bench: Bench, repository: Path, place: Path) -> None:
    git(place, "checkout", "-q", "-b", "side")
    theirs = commit(place, {"README": "theirs\n"})
    git(place, "checkout", "-q", "fix")
    commit(place, {"README": "ours\n"})
    with pytest.raises(subprocess.CalledProcessError):
        git(place, "merge", "side")
    before = look(place)
    async with gone(bench, repository, place):
        pass
    assert look(place) == before
    assert b"u UU" in before.status
    (place / "README").write_text("both\n")
    git(place, "commit", "-q", "-a", "--no-edit")
    assert theirs in git(place, "log", "-1", "--format=%P")


async def test_bytes_come_back_whatever_filters_say(bench: Bench, repository: Path, place: Path) -> None:
    commit(place, {".gitattributes": "*.txt text eol=crlf\n*.bin filter=missing\n", "a.txt": "1\n"})
    git(repository, "config", "filter.missing.clean", "/nonexistent")
    git(repository, "config", "filter.missing.required", "true")
    (place / "a.txt").write_bytes(b"mixed\nline\r\nends\n")
    (place / "b.txt").write_bytes(b"lf\n")
    (place / "c.bin").write_bytes(b"\0\xff")
    before = look(place)
    async with gone(bench, repository, place):
        pass
    assert look(place).files == before.files


async def test_a_detached_head_and_an_unborn_branch_come_back(bench: Bench, repository: Path, place: Path) -> None:
    git(place, "checkout", "-q", "--detach")
    head = commit(place, {"a": "1"})
    async with gone(bench, repository, place):
        pass
    assert git(place, "rev-parse", "HEAD", "--symbolic-full-name", "HEAD") == f"{head}\nHEAD"
    git(place, "checkout", "-q", "--orphan", "fresh")
    (place / "b").write_text("2")
    before = git(place, "status", "--porcelain=v2", "--branch", "-z")
    async with gone(bench, repository, place):
        pass
    assert git(place, "status", "--porcelain=v2", "--branch", "-z") == before
    assert "(initial)" in before


async def test_secrets_that_were_brought_along_are_kept_privately(bench: Bench, repository: Path, place: Path) -> None:
    row = await row_of(bench, place)
    (place / ".env").write_text("KEY=new\n")
    (place / ".env").chmod(0o640)
    (place / "same").write_text("as it was\n")
    known = {".env": "0" * 64, "same": hashlib.sha256(b"as it was\n").hexdigest(), "gone": "1" * 64}
    await bench.worktrees.registry.change(row.id, brought_along=known)
    found = await bench.worktrees.inspect(row.id)
    assert (found.brought_along_changed, found.untracked_count) == ((".env",), 0)
    done = await bench.worktrees.remove(row.id, force=True)
    assert "KEY" not in git(repository, "show", f"refs/betcode/trash/{done.removed_id}")
    assert ".env" not in git(repository, "ls-tree", "-r", "--name-only", f"refs/betcode/trash/{done.removed_id}")
    kept = bench.paths.state_dir / "trash" / done.removed_id
    assert (kept.stat().st_mode & 0o777, (kept / "files" / ".env").stat().st_mode & 0o777) == (0o700, 0o600)
    back = await bench.worktrees.restore(str(repository), done.removed_id, "")
    assert ((place / ".env").read_text(), (place / "same").read_text()) == ("KEY=new\n", "as it was\n")
    assert (place / ".env").stat().st_mode & 0o777 == 0o640
    assert dict(back.row.brought_along) == known


async def test_what_copies_hold_unchanged_keeps_nothing(bench: Bench, place: Path) -> None:
    row = await row_of(bench, place)
    (place / ".env").write_text("x")
    known = {".env": hashlib.sha256(b"x").hexdigest()}
    await bench.worktrees.registry.change(row.id, brought_along=known)
    assert (await bench.worktrees.remove(row.id, force=False)).removed_id == ""


async def test_submodules_come_back_with_what_only_they_had(bench: Bench, repository: Path, tmp_path: Path) -> None:
    library = make_repository(tmp_path / "library", {"lib.py": "1\n"})
    allow = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "protocol.file.allow", "GIT_CONFIG_VALUE_0": "always"}
    git(repository, "submodule", "add", "-q", str(library), "parts/lib", **allow)
    git(repository, "commit", "-q", "-m", "a submodule")
    place = tmp_path / "fix"
    git(repository, "worktree", "add", "-q", "-b", "fix", str(place))
    git(place, "submodule", "update", "-q", "--init", **allow)
    row = await row_of(bench, place)
    assert (await bench.worktrees.inspect(row.id)).is_clean
    lib = place / "parts" / "lib"
    commit(lib, {"lib.py": "2\n"}, "only here")
    (lib / "lib.py").write_text("3\n")
    (lib / "new").write_text("4\n")
    found = await bench.worktrees.inspect(row.id)
    (held,) = found.submodules
    assert held.words == "2 changed files and 1 commit that exists nowhere else in the submodule parts/lib"
    outer, inner = look(place), look(lib)
    async with gone(bench, repository, place):
        assert not (repository / ".git" / "worktrees" / "fix").exists()
    assert look(place) == outer
    assert look(lib) == inner
    git(lib, "fsck", "--no-dangling")

    git(lib, "stash", "-u", "-q")
    git(lib, "push", "-q", "origin", "HEAD:refs/heads/pushed", **allow)
    git(place, "commit", "-q", "-a", "-m", "newer")
    git(repository, "branch", "copy", "fix")
    (held,) = (await bench.worktrees.inspect(row.id)).submodules
    assert "nowhere else" in held.words, "a stash of a submodule goes with it"
    git(lib, "stash", "drop", "-q")
    await bench.worktrees.remove(row.id, force=False)
    assert not place.exists()
