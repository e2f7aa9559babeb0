"""WorktreeService: switch to another worktree; list repositories and branches."""

from betcode.domain.errors import InvalidRequest
from betcode.domain.store.rows import NewSession
from betcode.server.auth.rate_limits import RateLimits
from betcode.server.convert.requests import DefaultProvider, new_session, provider_of
from betcode.server.rpc import Caller
from betcode.server.services.worktree import info
from betcode.v1 import worktree_pb2 as v1
from betcode.v1.agent_pb2 import StartConversation
from betcode.worktrees import Worktrees

_LIST_LIMIT_BYTES = 3 * 1024 * 1024  # a client with default options takes 4 MB


class WorktreeSwitchCalls:
    """The calls that switch worktrees and list repositories. An agent may only list."""

    def __init__(self, worktrees: Worktrees, default_provider: DefaultProvider, limits: RateLimits) -> None:
        self._worktrees = worktrees
        self._default_provider = default_provider
        self._limits = limits

    async def switch_worktree(self, caller: Caller, request: v1.SwitchWorktreeRequest) -> v1.SwitchWorktreeResponse:
        if not request.worktree_id:
            raise InvalidRequest("Give a worktree_id")

        asked = request.start_as
        start = StartConversation(provider=asked.provider, model=asked.model, environment=asked.environment)
        provider = await provider_of(start, self._default_provider)

        def start_as() -> NewSession:
            self._limits.session(caller)
            return new_session(start, provider)

        done = await self._worktrees.switch(request.worktree_id, start_as)
        return v1.SwitchWorktreeResponse(
            worktree=info(done.seen),
            previous_worktree_id=done.previous,
            session_id=done.session,
            session_created=done.session_created,
        )

    async def list_repositories(self, _: Caller, __: v1.ListRepositoriesRequest) -> v1.ListRepositoriesResponse:
        response = v1.ListRepositoriesResponse()
        for row, count in await self._worktrees.repositories():
            view = response.repositories.add(
                id=row.id,
                path=row.path,
                name=row.name,
                is_bare=row.is_bare,
                active_worktree_id=row.active_worktree,
                worktree_count=count,
            )
            view.last_used_at.FromNanoseconds(row.last_used_ns)
        return response

    async def list_branches(self, _: Caller, request: v1.ListBranchesRequest) -> v1.ListBranchesResponse:
        found = await self._worktrees.branches(request.repo_path, remote=request.include_remote)
        response = v1.ListBranchesResponse()
        size_bytes = 0
        for number, seen in enumerate(found):
            branch = seen.branch
            view = v1.BranchInfo(
                name=branch.name,
                is_head=branch.is_head,
                commit=branch.commit,
                subject=branch.subject,
                worktree_id=seen.worktree,
                is_remote=branch.is_remote,
            )
            size_bytes += view.ByteSize() + 8
            if size_bytes > _LIST_LIMIT_BYTES:
                response.left_out = len(found) - number
                break
            response.branches.append(view)
        return response
