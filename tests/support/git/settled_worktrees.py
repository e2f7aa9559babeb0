"""Worktrees of a daemon that takes up what the one before it had begun."""

from pathlib import Path

import anyio

from betcode.v1 import worktree_pb2 as v1
from betcode.v1.worktree_pb2_grpc import WorktreeServiceStub
from support.daemon.process import Daemon
from support.patience import PATIENCE_S

_AT_WORK = (v1.WORKTREE_STATE_CREATING, v1.WORKTREE_STATE_REMOVING)


async def settled(daemon: Daemon, repository: Path) -> dict[str, v1.WorktreeInfo]:
    """Those of the repository by their names, when none is being made, removed or restored any more."""
    request = v1.ListWorktreesRequest(repo_path=str(repository))
    async with daemon.channel() as channel:
        with anyio.fail_after(PATIENCE_S):
            while True:
                listed = (await WorktreeServiceStub(channel).ListWorktrees(request)).worktrees
                if all(each.state not in _AT_WORK for each in listed):
                    return {each.name: each for each in listed}
                await anyio.sleep(0.01)
