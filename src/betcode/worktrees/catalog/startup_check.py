"""Marks worktrees as stale whose directory disappeared while no daemon ran."""

import logging

from betcode.domain.errors import BetcodeError
from betcode.domain.repositories.worktrees import WorktreeState
from betcode.worktrees.catalog.registry import WorktreeRegistry
from betcode.worktrees.context import WorktreeContext

logger = logging.getLogger(__name__)


async def check_at_startup(context: WorktreeContext, registry: WorktreeRegistry) -> None:
    """Mark the rows whose directory is missing as stale, unless git reports that it was moved; none is deleted.

    Nothing waits for this, and a disk that does not answer is skipped.
    """
    try:
        for repository in await context.store.repositories():
            before = [row for row in await context.store.worktrees(repository.id) if row.state is WorktreeState.READY]
            gone = await registry.missing(repository, before)
            if gone:
                await registry.seen_if_possible(repository)
    except BetcodeError as trouble:
        logger.warning("worktrees could not be checked: %s", trouble.message)
