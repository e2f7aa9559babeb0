"""Lists the branches of a repository with one call of git."""

from dataclasses import dataclass

from betcode.git.branches import Branch, listed_branches
from betcode.worktrees.catalog.registry import WorktreeRegistry
from betcode.worktrees.context import WorktreeContext


@dataclass(frozen=True, slots=True)
class SeenBranch:
    branch: Branch
    worktree: str  # the id of the one in which it is checked out; empty: in none


async def branches(
    context: WorktreeContext, registry: WorktreeRegistry, directory: str, *, remote: bool
) -> list[SeenBranch]:
    """Those of the repository that a directory belongs to, the newest first.

    Raises:
        InvalidRequest, RepositoryNotFound, GitFailed
    """
    repository = await registry.repositories.of(directory)
    found = await listed_branches(context.git, repository.common_dir, remote=remote)
    rows = await registry.rows(repository)
    known = {row.path: row.id for row in rows}
    if any(each.checked_out_at and each.checked_out_at not in known for each in found):
        known = {each.row.path: each.row.id for each in await registry.seen(repository)}
    return [SeenBranch(each, known.get(each.checked_out_at, "")) for each in found]
