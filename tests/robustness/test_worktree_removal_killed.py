"""A daemon that is killed at any step of a removal or a restore loses nothing: the next one finishes or takes back."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import grpc
import pytest

from betcode.v1 import worktree_pb2 as v1
from betcode.v1.worktree_pb2_grpc import WorktreeServiceStub
from support.daemon.process import Daemon
from support.git.repositories import commit, git, make_repository
from support.git.settled_worktrees import settled
from support.git.working_tree import look

if TYPE_CHECKING:
    from betcode.v1.worktree_pb2_grpc import WorktreeServiceAsyncStub  # known to the stub files only

pytestmark = pytest.mark.anyio

# A daemon that finishes what the one before it began goes by some of the same steps; not by the one it is to end at.
_STEPS = ("removal-going", "removal-kept", "restore-added", "removal-aside", "restore-filled")
_ALL_STEPS = (
    "removal-going",
    "removal-noted",
    "removal-forgotten-by-git",
    "removal-sessions-closed",
    "removal-deleted",
    "restore-noted",
    "removal-kept",
    "restore-added",
    "removal-aside",
    "restore-filled",
)
_FINISHED = ("removal-going", "removal-forgotten-by-git", "removal-deleted")


@asynccontextmanager
async def calls_of(daemon: Daemon) -> AsyncIterator["WorktreeServiceAsyncStub"]:
    async with daemon.channel() as channel:
        yield WorktreeServiceStub(channel)


async def test_a_kill_at_a_step_loses_nothing(tmp_path: Path) -> None:
    await _kill_at(_STEPS, tmp_path)


@pytest.mark.wide
async def test_a_kill_at_any_step_loses_nothing(tmp_path: Path) -> None:
    await _kill_at(_ALL_STEPS, tmp_path)


async def _kill_at(steps: Sequence[str], tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "shop")
    for step in steps:
        place = tmp_path / step
        git(repository, "worktree", "add", "-q", "-b", step, str(place))
        commit(place, {"a": "1\n"})
        (place / "a").write_text("changed\n")
        (place / "new").write_text("untracked\n")
    before = {step: look(tmp_path / step) for step in steps}
    daemon = Daemon(tmp_path)
    try:
        for step in steps:
            await daemon.start(BETCODE_FAULT=step)
            known = await settled(daemon, repository)
            with pytest.raises(grpc.RpcError):
                await _there_and_back(daemon, repository, known[step].id)
            await daemon.ended()
        await daemon.start()
        left = await settled(daemon, repository)
        async with calls_of(daemon) as calls:
            kept = (await calls.ListRemovedWorktrees(v1.ListRemovedWorktreesRequest())).removed
            assert sorted(each.name for each in kept) == sorted({*steps} & {*_FINISHED})
            assert sorted(left) == sorted({"shop", *steps} - {*_FINISHED})
            for each in kept:
                assert not (tmp_path / each.name).exists()
                asked = v1.RestoreWorktreeRequest(repo_path=str(repository), removed_id=each.id)
                await calls.RestoreWorktree(asked)
        assert {step: look(tmp_path / step) for step in before} == before
        assert not list(tmp_path.glob(".betcode*"))
        assert not git(repository, "for-each-ref", "refs/betcode")
        assert not list((daemon.paths.state_dir / "trash").iterdir())
    finally:
        daemon.end_everything()


async def _there_and_back(daemon: Daemon, repository: Path, worktree: str) -> None:
    async with calls_of(daemon) as calls:
        gone = await calls.RemoveWorktree(v1.RemoveWorktreeRequest(worktree_id=worktree, force=True))
        asked = v1.RestoreWorktreeRequest(repo_path=str(repository), removed_id=gone.removed_id)
        await calls.RestoreWorktree(asked)
