"""The working directory of a session's agent: its original one, or the current path of its worktree."""

import anyio

from betcode.domain.errors import WorktreeUnusable
from betcode.domain.store.rows import NewSession
from betcode.engine.context import EngineContext

_KNOWN_WITHIN_S = 10.0  # who keeps the worktrees comes right after the engine


async def current_directory(context: EngineContext, new: NewSession) -> str:
    """Where its agent is to be started.

    Raises:
        WorktreeUnusable: the session's worktree is not there.
    """
    if not new.worktree_id:
        return new.working_directory
    with anyio.move_on_after(_KNOWN_WITHIN_S):
        await context.places_known.wait()
    return new.working_directory if context.places is None else await context.places.directory_of(new)


async def last_known_directory(context: EngineContext, new: NewSession) -> str:
    """Where its agent works, or worked before its worktree was gone."""
    try:
        return await current_directory(context, new)
    except WorktreeUnusable:
        return new.working_directory


async def directory_problem(context: EngineContext, new: NewSession) -> WorktreeUnusable | None:
    """Why nothing can be done in the session's worktree now; None: it is there, or the session has none."""
    try:
        await current_directory(context, new)
    except WorktreeUnusable as trouble:
        return trouble
    return None
