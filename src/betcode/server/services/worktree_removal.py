"""WorktreeService: inspect, remove and restore worktrees."""

from collections.abc import Mapping

from betcode.domain.values.text import valid
from betcode.server.auth.gate import Gate
from betcode.server.registration import long_call
from betcode.server.rpc import Caller, Context
from betcode.server.services.worktree import info
from betcode.v1 import worktree_pb2 as v1
from betcode.worktrees import BranchState, Contents, RemovedWorktree, WorktreeReport, Worktrees

_BRANCHES: Mapping[BranchState, v1.BranchState.ValueType] = {
    BranchState.UNKNOWN: v1.BRANCH_STATE_UNSPECIFIED,
    BranchState.MERGED: v1.BRANCH_STATE_MERGED,
    BranchState.AHEAD: v1.BRANCH_STATE_AHEAD,
    BranchState.DETACHED: v1.BRANCH_STATE_DETACHED,
    BranchState.GONE: v1.BRANCH_STATE_GONE,
}
_COUNT_LIMIT = 2**32 - 1


class WorktreeRemovalCalls:
    """The calls that inspect, remove and restore worktrees. An agent may only inspect."""

    def __init__(self, worktrees: Worktrees, gate: Gate) -> None:
        self._worktrees = worktrees
        self._gate = gate

    @long_call
    async def inspect_worktree(self, _: Caller, request: v1.InspectWorktreeRequest) -> v1.WorktreeContents:
        return contents(await self._worktrees.inspect(request.worktree_id))

    @long_call
    async def remove_worktree(self, caller: Caller, request: v1.RemoveWorktreeRequest) -> v1.RemoveWorktreeResponse:
        client = await self._gate.admit(caller)
        done = await self._worktrees.remove(request.worktree_id, force=request.force, by=client.client_id)
        answer = v1.RemoveWorktreeResponse(
            removed=True, sessions_closed=done.sessions_closed, removed_id=done.removed_id
        )
        if done.removed_id:
            answer.kept_until.FromNanoseconds(done.kept_until_ns)
        return answer

    async def list_removed_worktrees(
        self, _: Caller, request: v1.ListRemovedWorktreesRequest
    ) -> v1.ListRemovedWorktreesResponse:
        found = await self._worktrees.removed(request.repo_path)
        return v1.ListRemovedWorktreesResponse(removed=[self._removed(each) for each in found])

    @long_call
    async def restore_worktree(self, _: Caller, request: v1.RestoreWorktreeRequest) -> v1.WorktreeInfo:
        return info(await self._worktrees.restore(request.repo_path, request.removed_id, request.path))

    async def report_worktrees(self, _: Caller, request: v1.ReportWorktreesRequest, context: Context) -> None:
        async with self._worktrees.reports(request.repo_path) as reports:
            async for each in reports:
                await context.write(report(each).SerializeToString())

    async def forget_worktree(self, _: Caller, request: v1.ForgetWorktreeRequest) -> v1.ForgetWorktreeResponse:
        await self._worktrees.forget(request.worktree_id)
        return v1.ForgetWorktreeResponse(forgotten=True)

    def _removed(self, each: RemovedWorktree) -> v1.RemovedWorktree:
        view = v1.RemovedWorktree(
            id=each.id,
            repo_path=valid(each.repository.path),
            name=valid(each.text("name")),
            branch=valid(each.text("branch")),
            path=valid(each.text("path")),
            head=valid(each.text("head")),
            ref=each.ref,
            changed_count=min(each.number("changed"), _COUNT_LIMIT),
            untracked_count=min(each.number("untracked"), _COUNT_LIMIT),
            unpushed_count=min(each.number("unpushed"), _COUNT_LIMIT),
        )
        view.removed_at.FromNanoseconds(each.removed_ns)
        view.kept_until.FromNanoseconds(self._worktrees.kept_until_ns(each))
        return view


def contents(found: Contents) -> v1.WorktreeContents:
    view = v1.WorktreeContents(
        changed=[
            v1.ChangedPath(path=valid(each.path), status=each.status, from_path=valid(each.from_path))
            for each in found.changed
        ],
        untracked=map(valid, (*found.untracked, *found.repositories)),
        in_progress=found.in_progress,
        brought_along_changed=map(valid, found.brought_along_changed),
        submodules=[valid(each.words) for each in found.submodules],
        changed_count=found.changed_count,
        untracked_count=found.untracked_count + len(found.repositories),
        unpushed_count=found.unpushed_count,
        is_clean=found.is_clean,
    )
    for each in found.unpushed:
        commit = view.unpushed.add(commit=each.id, subject=valid(each.subject))
        commit.committed_at.FromNanoseconds(each.committed_ns)
    return view


def report(each: WorktreeReport) -> v1.WorktreeReport:
    sessions = each.seen.sessions
    view = v1.WorktreeReport(
        worktree=info(each.seen),
        size_bytes=each.size.bytes,
        is_size_partial=each.size.is_partial,
        branch_state=_BRANCHES[each.branch],
        changed_count=each.contents.changed_count,
        untracked_count=each.contents.untracked_count + len(each.contents.repositories),
        unpushed_count=each.contents.unpushed_count,
        last_session_id=sessions.last,
        may_be_removed=each.may_be_removed,
        reason=valid(each.reason),
        of=each.of,
    )
    if sessions.last:
        view.last_session_at.FromNanoseconds(sessions.last_ns)
    return view
