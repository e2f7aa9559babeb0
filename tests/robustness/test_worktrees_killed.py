"""A daemon is killed while it makes a worktree; the next one finishes or takes back, and says so."""

import signal
from collections.abc import Iterator
from pathlib import Path

import anyio
import grpc
import pytest
from grpc import aio

from betcode.holder.platform import marked, process, send_signal
from betcode.v1 import worktree_pb2 as v1
from betcode.v1.worktree_pb2_grpc import WorktreeServiceStub
from betcode.worktrees.create.setup_process import MARKER
from support.daemon.process import Daemon, becomes_true
from support.git.repositories import git, make_repository
from support.git.settled_worktrees import settled
from support.patience import PATIENCE_S

pytestmark = pytest.mark.anyio


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "shop")


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Daemon]:
    """One that is not started yet."""
    pid = tmp_path / "hook.pid"
    # The daemon is killed as soon as this starts; a write to the closed pipe must not end the script before it has
    # written its pid.
    script = f"trap '' PIPE; echo begun; (sleep 1000 & echo $! > {pid}); sleep 1000"
    settings = {"worktree": {"setup_commands": [["sh", "-c", script]]}}
    daemon = Daemon(tmp_path / "daemon", settings=settings)
    try:
        yield daemon
    finally:
        daemon.end_everything()


async def create(daemon: Daemon, repository: Path) -> None:
    """Ask for a worktree of a daemon that dies over it."""
    wanted = v1.CreateWorktreeRequest(repo_path=str(repository), branch="fix", create_branch=True)
    async with daemon.channel() as channel:
        with anyio.fail_after(PATIENCE_S), pytest.raises(aio.AioRpcError) as told:
            await WorktreeServiceStub(channel).CreateWorktree(wanted)
    assert told.value.code() in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED)


async def killed_at(daemon: Daemon, repository: Path, step: str) -> dict[str, v1.WorktreeInfo]:
    await daemon.start(BETCODE_FAULT=step)
    await create(daemon, repository)
    assert await daemon.ended() == -signal.SIGKILL
    await daemon.start()
    return await settled(daemon, repository)


async def test_before_git_was_asked_nothing_is_left(daemon: Daemon, repository: Path) -> None:
    assert [*await killed_at(daemon, repository, "before-worktree-add")] == ["shop"]
    assert git(repository, "branch", "--format=%(refname:short)") == "main"


async def test_between_git_and_the_row_the_worktree_is_finished(daemon: Daemon, repository: Path) -> None:
    found = (await killed_at(daemon, repository, "after-worktree-add"))["fix"]
    assert (found.state, found.setup) == (v1.WORKTREE_STATE_READY, v1.WORKTREE_SETUP_FAILED)
    assert "The daemon ended while it was made, before its setup" in found.trouble
    assert (found.is_locked, found.was_adopted) == (False, False)
    assert (Path(found.path) / "README").exists()


async def test_during_a_setup_its_processes_are_ended(daemon: Daemon, repository: Path, tmp_path: Path) -> None:
    await daemon.start(BETCODE_FAULT="during-worktree-setup")
    await create(daemon, repository)
    assert await daemon.ended() == -signal.SIGKILL
    pid = tmp_path / "hook.pid"
    await becomes_true(lambda: pid.exists() and bool(pid.read_text().strip()))
    sleeper = int(pid.read_text())
    assert process(sleeper) is not None
    await daemon.start()
    found = (await settled(daemon, repository))["fix"]
    assert (found.state, found.setup) == (v1.WORKTREE_STATE_READY, v1.WORKTREE_SETUP_FAILED)
    assert "The daemon ended while its setup ran; " in found.trouble
    assert "processes of it were ended: run the setup again with: betcode worktree setup fix" in found.trouble
    await becomes_true(lambda: process(sleeper) is None)


@pytest.mark.parametrize("with_git", [False, True], ids=["git-goes-on", "git-too"])
async def test_while_git_writes_files_it_is_taken_back(
    daemon: Daemon, repository: Path, tmp_path: Path, with_git: bool
) -> None:
    started = tmp_path / "started"
    # A filter of the user: those that a repository defines are not run.
    settings = tmp_path / "daemon" / "home" / ".gitconfig"
    git(repository, "config", "--file", str(settings), "filter.slow.smudge", f"touch '{started}'; sleep 1000; cat")
    (repository / ".gitattributes").write_text("*.slow filter=slow\n")
    (repository / "z.slow").write_text("z")
    git(repository, "add", "-A")
    git(repository, "commit", "-q", "-m", "slow")
    await daemon.start()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(create, daemon, repository)
        await becomes_true(started.exists)
        async with daemon.channel() as channel:
            listed = await WorktreeServiceStub(channel).ListWorktrees(v1.ListWorktreesRequest())
        (worktree,) = (each.id for each in listed.worktrees if each.state == v1.WORKTREE_STATE_CREATING)
        daemon.kill()
    at_work = marked(worktree, MARKER)
    assert at_work
    if with_git:
        for one in at_work:
            send_signal(one, signal.SIGKILL)
    await daemon.start()
    assert [*await settled(daemon, repository)] == ["shop"]
    assert git(repository, "branch", "--format=%(refname:short)") == "main"
    assert git(repository, "worktree", "list").count("\n") == 0
    assert not (tmp_path / "shop-fix").exists()
    await becomes_true(lambda: not marked(worktree, MARKER))
