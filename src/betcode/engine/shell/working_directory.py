"""The working directory of a session's agent: its original one, or the current path of its worktree.

Whether an agent can work there is examined off the event loop, for a bounded time.
"""

import stat
from functools import partial
from pathlib import Path

import anyio

from betcode.domain.bounded_io import BoundedIOPort, FilesystemTimeout
from betcode.domain.errors import WorktreeUnusable
from betcode.domain.store.rows import NewSession
from betcode.engine.context import EngineContext

_KNOWN_WITHIN_S = 10.0  # who keeps the worktrees comes right after the engine
_ELSEWHERE = "or start a new session elsewhere"


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


async def directory_advice(file_io: BoundedIOPort, directory: str) -> str:
    """What to do about the directory before an agent can start there; empty: nothing, it is usable."""
    try:
        return await file_io.run(directory, partial(_advice, directory))
    except FilesystemTimeout as no_answer:
        return (
            f"its working directory {directory!r} does not answer ({no_answer}): check the mount, then send the "
            f"message again, {_ELSEWHERE}"
        )


def _advice(directory: str) -> str:
    try:
        facts = Path(directory).stat()
    except (FileNotFoundError, NotADirectoryError):
        return f"its working directory {directory!r} no longer exists: create it again, {_ELSEWHERE}"
    except (OSError, ValueError) as trouble:
        reason = trouble.strerror if isinstance(trouble, OSError) and trouble.strerror else str(trouble)
        return (
            f"its working directory {directory!r} cannot be used ({reason}): check its permissions and its mount, "
            f"{_ELSEWHERE}"
        )
    if not stat.S_ISDIR(facts.st_mode):
        return f"its working directory {directory!r} is no longer a directory: create it again, {_ELSEWHERE}"
    return ""
