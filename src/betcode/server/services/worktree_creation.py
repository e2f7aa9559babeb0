"""WorktreeService: create worktrees and run their setup."""

from contextlib import aclosing
from typing import assert_never

from betcode.domain.errors import InvalidRequest
from betcode.domain.repositories.worktrees import WorktreeId
from betcode.server.auth.gate import Gate
from betcode.server.registration import long_call
from betcode.server.rpc import Caller, Context
from betcode.server.services.worktree import info
from betcode.v1 import worktree_pb2 as v1
from betcode.worktrees import BackgroundWork, CreateRequest, Progress, SeenWorktree, SetupOutput, SetupStep, Worktrees

_CREATE = "betcode.v1.WorktreeService.CreateWorktree"
_SKIPPED = "The setup was skipped, as requested: run it with betcode worktree setup"
_BY_AN_AGENT = "The setup was skipped, because an agent created the worktree: run it with betcode worktree setup"


class WorktreeCreationCalls:
    """The calls that create worktrees. The work continues when the caller disconnects."""

    def __init__(self, worktrees: Worktrees, gate: Gate) -> None:
        self._worktrees = worktrees
        self._gate = gate

    @long_call
    async def create_worktree(self, caller: Caller, request: v1.CreateWorktreeRequest) -> v1.WorktreeInfo:
        return info(await self._worktrees.create(await self._request_of(caller, request)).result())

    async def watch_create_worktree(self, caller: Caller, request: v1.CreateWorktreeRequest, context: Context) -> None:
        await _send_progress(self._worktrees.create(await self._request_of(caller, request)), context)

    async def set_up_worktree(self, _: Caller, request: v1.SetUpWorktreeRequest, context: Context) -> None:
        row = await self._worktrees.registry.find(request.worktree_id)
        await _send_progress(self._worktrees.set_up(row.id), context)

    async def read_setup_output(self, _: Caller, request: v1.ReadSetupOutputRequest, context: Context) -> None:
        row = await self._worktrees.registry.find(request.worktree_id)
        for piece in await self._worktrees.setup_output(WorktreeId(row.id)):
            await context.write(_output(piece).SerializeToString())

    async def _request_of(self, caller: Caller, request: v1.CreateWorktreeRequest) -> CreateRequest:
        """Raises InvalidRequest, AnswerRefused."""
        if request.on_setup_failure not in v1.OnSetupFailure.values():
            raise InvalidRequest("on_setup_failure must be either keep or roll back")
        by_a_person = await self._gate.is_a_person(caller)
        if not by_a_person and request.path:
            await self._gate.admit(caller, _CREATE)  # an agent does not have files put where it may not write itself
        if not by_a_person:
            await self._gate.report_allowed(_CREATE, caller)
        return CreateRequest(
            repo_path=request.repo_path,
            branch=request.branch,
            name=request.name,
            path=request.path,
            create_branch=request.create_branch,
            base=request.base,
            roll_back=request.on_setup_failure == v1.ON_SETUP_FAILURE_ROLL_BACK,
            not_set_up="" if by_a_person and not request.skip_setup else _SKIPPED if by_a_person else _BY_AN_AGENT,
        )


async def _send_progress(work: BackgroundWork[SeenWorktree], context: Context) -> None:
    """Send all progress, then the worktree; an error follows the progress."""
    async with aclosing(work.feed.follow()) as steps:
        async for each in steps:
            await context.write(_progress(each).SerializeToString())
    done = v1.WorktreeProgress(done=info(await work.result()))
    await context.write(done.SerializeToString())


def _progress(each: Progress) -> v1.WorktreeProgress:
    match each:
        case SetupStep():
            return v1.WorktreeProgress(step=v1.WorktreeStep(what=each.what, number=each.number, of=each.of))
        case SetupOutput():
            return v1.WorktreeProgress(output=_output(each))
        case _:
            assert_never(each)


def _output(piece: SetupOutput) -> v1.WorktreeOutput:
    return v1.WorktreeOutput(data=piece.data, left_out_bytes=piece.left_out_bytes)
