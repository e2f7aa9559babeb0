"""A snapshot has what lies in the worktree, whatever state its repository is in, and leaves no trace there."""

import os
import shutil
import subprocess
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import anyio
import pytest

from betcode.domain.errors import GitFailed
from betcode.git.command import Git
from betcode.git.snapshots import PrivateObjects, Snapshot, ground_of, take
from support.git.repositories import commit, define_filter, git, make_repository
from support.git.trees import everything_in, files_in, files_of, names_of

pytestmark = pytest.mark.anyio

_LIMIT = 10_000


@dataclass(frozen=True)
class Camera:
    objects: PrivateObjects

    async def take(self, at: Path) -> Snapshot:
        git = Git(os.environ)
        ground = await ground_of(git, str(at))
        assert ground is not None
        return await take(git, ground, self.objects, _LIMIT)

    async def files(self, at: Path) -> dict[bytes, tuple[bytes, bytes]]:
        return files_of(self.objects, (await self.take(at)).tree)


@pytest.fixture
def camera(tmp_path: Path) -> Camera:
    return Camera(PrivateObjects(tmp_path / "private"))


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    return make_repository(
        tmp_path / "shop", {"a": "one\n", "b": "two\n", "deep/c": "three\n", ".gitignore": "*.log\nbuild/\n"}
    )


# ---------------------------------------------------------------- states that a repository may be in


def _edited(at: Path) -> None:
    (at / "a").write_text("other\n")
    (at / "b").unlink()
    (at / "deep/new file").write_text("new\n")
    (at / "staged").write_text("staged\n")
    git(at, "add", "staged")
    (at / "staged").write_text("and changed again\n")


def _names_and_modes(at: Path) -> None:
    (at / "a").chmod(0o755)
    (at / "link").symlink_to("deep/c")
    (at / "dangling").symlink_to("nowhere")
    (Path(os.fsdecode(os.fsencode(at) + b"/caf\xe9"))).write_bytes(b"latin")
    (at / "snow ☃ man\nwith two lines").write_text("x")
    (at / '"quoted" \\ :(exclude)a').write_text("x")


def _file_becomes_directory(at: Path) -> None:
    (at / "a").unlink()
    (at / "a").mkdir()
    (at / "a/inner").write_text("x")
    shutil.rmtree(at / "deep")
    (at / "deep").symlink_to("a")


def _conflict(at: Path) -> None:
    git(at, "checkout", "-q", "-b", "theirs")
    commit(at, {"a": "theirs\n"})
    git(at, "checkout", "-q", "main")
    commit(at, {"a": "ours\n"})
    with suppress(subprocess.CalledProcessError):
        git(at, "merge", "theirs")
    assert git(at, "ls-files", "-u")


def _in_a_rebase(at: Path) -> None:
    git(at, "checkout", "-q", "-b", "side")
    commit(at, {"a": "side\n"})
    git(at, "checkout", "-q", "main")
    commit(at, {"a": "main\n"})
    git(at, "checkout", "-q", "side")
    with pytest.raises(subprocess.CalledProcessError):
        git(at, "rebase", "main")
    assert (at / ".git/rebase-merge").is_dir()
    (at / "a").write_text("<<< not solved yet\n")


def _intent_to_add(at: Path) -> None:
    (at / "soon").write_text("soon\n")
    (at / "never").write_text("never\n")
    git(at, "add", "-N", "soon", "never")
    (at / "never").unlink()


def _assumed_unchanged(at: Path) -> None:
    git(at, "update-index", "--assume-unchanged", "a", "b")
    (at / "a").write_text("changed all the same\n")
    (at / "b").unlink()


def _told_to_skip(at: Path) -> None:
    git(at, "update-index", "--skip-worktree", "a")
    (at / "a").write_text("changed all the same\n")


def _split_index(at: Path) -> None:
    git(at, "update-index", "--split-index")
    (at / "a").write_text("changed\n")
    git(at, "add", "a")
    assert list((at / ".git").glob("sharedindex.*"))
    (at / "b").write_text("changed too\n")


def _watched_by_fsmonitor(at: Path) -> None:
    hook = at.parent / "hook"
    hook.write_text("#!/bin/sh\necho token\n")  # says that nothing changed
    hook.chmod(0o755)
    git(at, "config", "core.fsmonitor", str(hook))
    git(at, "update-index", "--fsmonitor")
    git(at, "status")
    (at / "a").write_text("changed\n")


def _with_untracked_cache(at: Path) -> None:
    git(at, "update-index", "--force-untracked-cache")
    git(at, "status")
    (at / "deep/new").write_text("new\n")


def _lock_held(at: Path) -> None:
    (at / ".git/index.lock").write_bytes(b"somebody works here")
    (at / "a").write_text("changed\n")


def _strict_line_ends(at: Path) -> None:
    git(at, "config", "core.autocrlf", "input")
    git(at, "config", "core.safecrlf", "true")
    (at / "a").write_text("plain\n")
    (at / "new").write_text("plain\n")


def _odd_settings(at: Path) -> None:
    for setting in ("diff.noprefix", "add.ignoreErrors", "core.preloadIndex", "core.splitIndex", "index.sparse"):
        git(at, "config", setting, "true")
    git(at, "config", "status.showUntrackedFiles", "no")
    (at / "new").write_text("new\n")


def _without_commit(at: Path) -> None:
    shutil.rmtree(at / ".git")
    git(at, "init", "-q")
    git(at, "add", "a")


def _without_index(at: Path) -> None:
    (at / ".git/index").unlink()


def _detached(at: Path) -> None:
    commit(at, {"a": "second\n"})
    git(at, "checkout", "-q", "--detach", "HEAD~1")
    (at / "a").write_text("third\n")


@pytest.mark.parametrize(
    "prepare",
    [
        _edited,
        _names_and_modes,
        _file_becomes_directory,
        _conflict,
        _in_a_rebase,
        _intent_to_add,
        _assumed_unchanged,
        _told_to_skip,
        _split_index,
        _watched_by_fsmonitor,
        _with_untracked_cache,
        _lock_held,
        _strict_line_ends,
        _odd_settings,
        _without_commit,
        _without_index,
        _detached,
    ],
)
async def test_a_snapshot_has_what_lies_there_and_nothing_of_git_changes(
    camera: Camera, shop: Path, prepare: Callable[[Path], None]
) -> None:
    prepare(shop)
    # A file or tree that the repository has already is not stored again; git gives that object the time of now instead,
    # so that its own clean-up spares it.
    is_known = prepare in (_names_and_modes, _conflict, _without_index)
    before = everything_in(shop, objects_have_times=not is_known)
    taken = await camera.take(shop)
    assert (files_of(camera.objects, taken.tree), taken.note) == (files_in(shop), "")
    assert everything_in(shop, objects_have_times=not is_known) == before
    assert not list(camera.objects.directory.glob("look-*"))


async def test_ignored_files_are_omitted_unless_tracked(camera: Camera, shop: Path) -> None:
    (shop / "kept.log").write_text("tracked")
    git(shop, "add", "-f", "kept.log")
    (shop / "noise.log").write_text("x")
    (shop / "build").mkdir()
    (shop / "build/out").write_text("x")
    (shop / ".git/info/exclude").write_text("mine\n")
    (shop / "mine").write_text("x")
    taken = await camera.take(shop)
    assert names_of(camera.objects, taken.tree) == [".gitignore", "a", "b", "deep/c", "kept.log"]
    assert taken.note == ""


async def test_large_untracked_files_are_omitted_and_listed_and_tracked_ones_included(
    camera: Camera, shop: Path
) -> None:
    (shop / "b").write_bytes(b"x" * (_LIMIT + 1))
    for name in ("big", "deep/big [1]*", ":!big"):
        (shop / name).write_bytes(b"x" * (_LIMIT + 1))
    (shop / "just").write_bytes(b"x" * _LIMIT)
    taken = await camera.take(shop)
    assert names_of(camera.objects, taken.tree) == [".gitignore", "a", "b", "deep/c", "just"]
    assert taken.note == f"omitted: :!big, big, deep/big [1]* (larger than {_LIMIT} bytes)"


async def test_what_cannot_be_read_is_named(
    camera: Camera, shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    define_filter(tmp_path / "home", "broken", clean="false", required="true")
    commit(shop, {".gitattributes": "secret* filter=broken\n"})
    for name in ("secret", "secret place", "plain"):
        (shop / name).write_text("x")
    taken = await camera.take(shop)
    assert names_of(camera.objects, taken.tree) == [".gitattributes", ".gitignore", "a", "b", "deep/c", "plain"]
    assert taken.note == "omitted: secret, secret place (could not be read)"


@pytest.mark.skipif(os.geteuid() == 0, reason="everything can be read by root")
async def test_what_may_not_be_read_is_named(camera: Camera, shop: Path) -> None:
    (shop / "secret").write_text("x")
    (shop / "secret").chmod(0)
    assert (await camera.take(shop)).note == "omitted: secret (could not be read)"


async def test_submodules_are_commits_and_nested_repositories_are_omitted(
    camera: Camera, shop: Path, tmp_path: Path
) -> None:
    make_repository(tmp_path / "part")
    git(shop, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(tmp_path / "part"), "part")
    git(shop, "commit", "-q", "-m", "a part")
    moved_to = commit(shop / "part", {"README": "changed\n"})
    (shop / "part/untracked").write_text("x")
    make_repository(shop / "inner")
    git(shop / "deep", "init", "-q", "unborn")
    before = everything_in(shop / ".git")
    taken = await camera.take(shop)
    assert files_of(camera.objects, taken.tree)[b"part"] == (b"160000", moved_to.encode())
    assert "inner" not in names_of(camera.objects, taken.tree)
    assert taken.note == "omitted: deep/unborn/, inner/ (a nested repository)"
    assert everything_in(shop / ".git") == before


async def test_a_sparse_checkout_has_what_it_does_not_show(camera: Camera, shop: Path) -> None:
    git(shop, "sparse-checkout", "set", "--no-cone", "a", "b")
    assert not (shop / "deep").exists()
    (shop / "a").write_text("changed\n")
    (shop / "outside").write_text("new\n")
    before = everything_in(shop)
    files = await camera.files(shop)
    assert files[b"deep/c"] == (b"100644", b"three\n")
    assert files[b"a"] == (b"100644", b"changed\n")
    assert files[b"outside"] == (b"100644", b"new\n")
    assert everything_in(shop) == before


async def test_a_linked_worktree_of_a_shared_clone_is_read_through_all_alternates(
    camera: Camera, shop: Path, tmp_path: Path
) -> None:
    git(tmp_path, "clone", "-q", "--shared", str(shop), "clone: 2")
    clone = tmp_path / "clone: 2"
    (clone / ".git/objects/info/alternates").write_text("../../../shop/.git/objects\n")
    git(clone, "worktree", "add", "-q", "-b", "fix", str(tmp_path / "linked"))
    linked = tmp_path / "linked"
    (linked / "deep/c").write_text("changed\n")
    before = everything_in(clone), everything_in(shop)
    assert await camera.files(linked) == files_in(linked)
    assert (everything_in(clone), everything_in(shop)) == before


async def test_shallow_and_sha256_clones_can_be_snapshotted(camera: Camera, shop: Path, tmp_path: Path) -> None:
    commit(shop, {"a": "second\n"})
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{shop}", "shallow")
    (tmp_path / "shallow/a").write_text("third\n")
    assert await camera.files(tmp_path / "shallow") == files_in(tmp_path / "shallow")

    (tmp_path / "long").mkdir()
    git(tmp_path / "long", "init", "-q", "--object-format=sha256")
    commit(tmp_path / "long", {"a": "one\n"})
    (tmp_path / "long/a").write_text("two\n")
    other = Camera(PrivateObjects(tmp_path / "private-long"))
    assert await other.files(tmp_path / "long") == files_in(tmp_path / "long")


async def test_where_there_is_no_worktree_there_is_no_ground(tmp_path: Path, shop: Path) -> None:
    git(tmp_path, "clone", "-q", "--bare", str(shop), "bare.git")
    (tmp_path / "plain").mkdir()
    for at in (tmp_path / "bare.git", tmp_path / "plain", shop / ".git"):
        assert await ground_of(Git(os.environ), str(at)) is None
    with pytest.raises(GitFailed, match="does not exist"):
        await ground_of(Git(os.environ), str(tmp_path / "gone"))


async def test_files_that_come_and_go_meanwhile_do_no_harm(camera: Camera, shop: Path) -> None:
    always = {".gitignore", "a", "b", "deep/c"}
    forever = ["sh", "-c", "while :; do echo x > coming; rm -f coming; done"]
    async with await anyio.open_process(forever, cwd=shop) as busy:
        for _ in range(5):
            taken = await camera.take(shop)
            assert set(names_of(camera.objects, taken.tree)) - {"coming"} == always
        busy.kill()


async def test_a_change_in_the_moment_in_which_the_index_was_written_is_seen(camera: Camera, shop: Path) -> None:
    for number in range(5):
        (shop / "a").write_text(f"{number}-1\n")
        git(shop, "add", "a")
        (shop / "a").write_text(f"{number}-2\n")  # of the same length, and maybe of the same time
        os.utime(shop / "a", ns=((shop / ".git/index").stat().st_mtime_ns,) * 2)
        assert (await camera.files(shop))[b"a"][1] == f"{number}-2\n".encode()


async def test_a_snapshot_that_takes_too_long_is_ended_without_remains(
    camera: Camera, shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (shop / ".gitattributes").write_text("* filter=slow\n")
    define_filter(tmp_path / "home", "slow", clean="sleep 60")
    (shop / "a").write_text("changed\n")
    program = Git(os.environ)
    ground = await ground_of(program, str(shop))
    assert ground is not None
    with pytest.raises(GitFailed, match="within"):
        await take(program, ground, camera.objects, _LIMIT, bound_s=0.5)
    assert not list(camera.objects.directory.glob("look-*"))
