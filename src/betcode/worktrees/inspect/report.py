"""Reports size, contents and removability of each worktree as soon as they are known."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from enum import StrEnum

import anyio
import anyio.to_thread
from anyio.abc import ObjectReceiveStream, ObjectSendStream

from betcode.domain.errors import BetcodeError
from betcode.domain.repositories.worktrees import SetupState, WorktreeOrigin, WorktreeState
from betcode.domain.values.phrases import counted, named
from betcode.git.command import Git
from betcode.worktrees.catalog.registry import SeenWorktree
from betcode.worktrees.inspect.contents import Contents
from betcode.worktrees.inspect.disk_usage import DiskUsage, disk_usage
from betcode.worktrees.inspect.inspect import inspect

_AT_ONCE = 8
_MEASURED_WITHIN_S = 20.0
_LOOKED_AT_WITHIN_S = 60.0


class BranchState(StrEnum):
    UNKNOWN = "unknown"
    MERGED = "merged"  # another branch has all of it
    AHEAD = "ahead"  # it has commits that exist nowhere else
    DETACHED = "detached"
    GONE = "gone"  # the branch was deleted, or has no commit yet


@dataclass(frozen=True, slots=True)
class WorktreeReport:
    seen: SeenWorktree
    size: DiskUsage
    branch: BranchState
    contents: Contents
    may_be_removed: bool
    reason: str
    of: int  # how many reports there will be


@asynccontextmanager
async def open_reports(
    git: Git, seen: Sequence[SeenWorktree]
) -> AsyncGenerator[ObjectReceiveStream[WorktreeReport], None]:
    """Yield reports on all of them, in the order in which they are ready; leaving the block cancels the rest."""
    send, receive = anyio.create_memory_object_stream[WorktreeReport](len(seen))
    limiter = anyio.CapacityLimiter(_AT_ONCE)
    async with anyio.create_task_group() as tasks, receive:
        async with send:
            for each in seen:
                tasks.start_soon(_report, git, each, len(seen), limiter, send.clone())
        yield receive
        tasks.cancel_scope.cancel()


async def _report(
    git: Git, seen: SeenWorktree, of: int, limiter: anyio.CapacityLimiter, send: ObjectSendStream[WorktreeReport]
) -> None:
    async with send, limiter:
        size, contents, trouble = DiskUsage(), Contents(), ""
        if seen.is_there:
            size = await _measured(seen.row.path)
            contents, trouble = await _looked_at(git, seen)
        may, reason = _judged(seen, contents, trouble)
        await send.send(WorktreeReport(seen, size, _branch(seen, contents, trouble), contents, may, reason, of))


async def _measured(path: str) -> DiskUsage:
    with anyio.move_on_after(_MEASURED_WITHIN_S * 1.5):  # a disk that does not answer blocks only its own thread
        limiter = anyio.CapacityLimiter(1)
        return await anyio.to_thread.run_sync(
            disk_usage, path, _MEASURED_WITHIN_S, abandon_on_cancel=True, limiter=limiter
        )
    return DiskUsage(0, is_partial=True)


async def _looked_at(git: Git, seen: SeenWorktree) -> tuple[Contents, str]:
    try:
        with anyio.fail_after(_LOOKED_AT_WITHIN_S):
            return await inspect(git, seen), ""
    except BetcodeError as trouble:
        return Contents(), trouble.message
    except TimeoutError:
        return Contents(), f"git did not answer within {_LOOKED_AT_WITHIN_S:g} s"


def _branch(seen: SeenWorktree, contents: Contents, trouble: str) -> BranchState:
    if seen.git is None or not seen.is_there or trouble:
        return BranchState.UNKNOWN
    if not seen.git.head:
        return BranchState.GONE
    if contents.unpushed_count:
        return BranchState.DETACHED if not seen.git.branch else BranchState.AHEAD
    return BranchState.MERGED if seen.git.branch else BranchState.DETACHED


def _judged(seen: SeenWorktree, contents: Contents, trouble: str) -> tuple[bool, str]:
    row = seen.row
    if row.origin is WorktreeOrigin.MAIN:
        return False, "It is the repository itself"
    if row.state in (WorktreeState.CREATING, WorktreeState.REMOVING) or row.setup is SetupState.RUNNING:
        return False, row.trouble or "It is being made, set up or removed"
    if seen.git is None or not seen.is_there:
        return True, "Its directory is missing"
    if trouble:
        return False, f"It cannot be read: {trouble}"
    if seen.git.is_locked:
        return False, f"It is locked{f': {named(seen.git.locked)}' if seen.git.locked else ''}"
    if seen.sessions.at_work_count:
        return False, f"A turn is open in {counted(seen.sessions.at_work_count, 'session', [seen.sessions.active])}"
    if not contents.is_clean:
        return False, f"It has {contents.words}"
    if seen.sessions.open_count:
        sessions = "session" if seen.sessions.open_count == 1 else "sessions"
        return True, f"Nothing would be lost; {seen.sessions.open_count} open {sessions} would be closed"
    return True, "Nothing would be lost"
