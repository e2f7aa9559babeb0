"""Finishes or rolls back removals and restores that an earlier daemon left unfinished."""

import logging
from collections.abc import Sequence

from betcode.domain.errors import BetcodeError, WorktreeNotFound
from betcode.domain.repositories.worktrees import WorktreeRow, WorktreeState
from betcode.worktrees.catalog.registry import WorktreeRegistry
from betcode.worktrees.remove.removal_steps import Removal, RemovalStep, removal_of
from betcode.worktrees.remove.remove import WorktreeRemover
from betcode.worktrees.remove.restore import WorktreeRestorer

logger = logging.getLogger(__name__)


async def recover_removals(
    rows: Sequence[WorktreeRow], registry: WorktreeRegistry, removing: WorktreeRemover, restoring: WorktreeRestorer
) -> None:
    """Recover each operation of an earlier daemon; one that fails is logged, and tried again later."""
    for row in rows:
        removal = removal_of(row.removal)
        if removal is not None:
            try:
                await _recover(row, removal, registry, removing, restoring)
            except BetcodeError as trouble:
                logger.warning(
                    "an operation on a worktree is not finished: %s", trouble.message, extra={"worktree": row.name}
                )
            except Exception:
                logger.exception("an operation on a worktree is not finished", extra={"worktree": row.name})


async def _recover(
    row: WorktreeRow,
    removal: Removal,
    registry: WorktreeRegistry,
    removing: WorktreeRemover,
    restoring: WorktreeRestorer,
) -> None:
    match removal.step:
        case RemovalStep.BEGUN | RemovalStep.GOING:
            await removing.take_up(row.id, removal)
        case RemovalStep.RESTORING:
            repository = await registry.repositories.get(row.repository)
            try:
                removed = await restoring.find(repository, removal.id)
            except WorktreeNotFound:  # the saved state was dropped; existing files remain
                await registry.change(row.id, state=WorktreeState.READY, removal="")
                return
            await restoring.restore(removed, row.path)
