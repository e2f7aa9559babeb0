"""WorktreeService: convert, call, convert back."""

from collections.abc import Mapping

from betcode.domain.repositories.worktrees import SetupState, WorktreeOrigin, WorktreeState
from betcode.server.rpc import Caller
from betcode.v1 import worktree_pb2 as v1
from betcode.worktrees import SeenWorktree, Worktrees, problem_of

_STATES: Mapping[WorktreeState, v1.WorktreeState.ValueType] = {
    WorktreeState.CREATING: v1.WORKTREE_STATE_CREATING,
    WorktreeState.READY: v1.WORKTREE_STATE_READY,
    WorktreeState.STALE: v1.WORKTREE_STATE_STALE,
    WorktreeState.REMOVING: v1.WORKTREE_STATE_REMOVING,
}
_SETUPS: Mapping[SetupState, v1.WorktreeSetup.ValueType] = {
    SetupState.NONE: v1.WORKTREE_SETUP_NONE,
    SetupState.RUNNING: v1.WORKTREE_SETUP_RUNNING,
    SetupState.DONE: v1.WORKTREE_SETUP_DONE,
    SetupState.FAILED: v1.WORKTREE_SETUP_FAILED,
    SetupState.TIMED_OUT: v1.WORKTREE_SETUP_TIMED_OUT,
    SetupState.UNTRUSTED: v1.WORKTREE_SETUP_UNTRUSTED,
    SetupState.SKIPPED: v1.WORKTREE_SETUP_SKIPPED,
}


class WorktreeCalls:
    """The calls about worktrees, one method per RPC."""

    def __init__(self, worktrees: Worktrees) -> None:
        self._worktrees = worktrees

    async def list_worktrees(self, _: Caller, request: v1.ListWorktreesRequest) -> v1.ListWorktreesResponse:
        return v1.ListWorktreesResponse(worktrees=map(info, await self._worktrees.listed(request.repo_path)))


def info(seen: SeenWorktree) -> v1.WorktreeInfo:
    """A worktree as clients see it."""
    row, git = seen.row, seen.git
    view = v1.WorktreeInfo(
        id=row.id,
        name=row.name,
        path=row.path,
        branch=row.branch,
        active_session_id=seen.sessions.active,
        repo_path=seen.repository.path,
        state=_STATES[row.state],
        setup=_SETUPS[row.setup],
        is_main=row.origin is WorktreeOrigin.MAIN,
        is_active=seen.is_active,
        was_adopted=row.origin is WorktreeOrigin.ADOPTED,
        head=git.head if git else "",
        is_locked=bool(git and git.is_locked),
        locked=git.locked if git else "",
        base=row.base,
        session_count=seen.sessions.open_count,
        trouble=problem_of(row),
    )
    view.created_at.FromNanoseconds(row.created_ns)
    view.last_used_at.FromNanoseconds(max(row.last_used_ns, seen.sessions.last_ns))
    return view
