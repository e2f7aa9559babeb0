"""Worktrees of git repositories: found, made, switched to, removed and restored. Sessions run in them."""

from betcode.worktrees.background_work import Work
from betcode.worktrees.catalog.branches import SeenBranch
from betcode.worktrees.catalog.problems import trouble_of
from betcode.worktrees.catalog.registry import SeenWorktree
from betcode.worktrees.catalog.switch import Switched
from betcode.worktrees.create.plan import Wanted
from betcode.worktrees.create.setup_output import Output, Progress, Step
from betcode.worktrees.inspect.contents import Contents
from betcode.worktrees.inspect.report import BranchState, Report
from betcode.worktrees.remove.trash import Removed
from betcode.worktrees.service import Worktrees, open_worktrees
from betcode.worktrees.turns.diffs import Diff
from betcode.worktrees.turns.snapshots import Snapshots, open_snapshots

__all__ = [
    "BranchState",
    "Contents",
    "Diff",
    "Output",
    "Progress",
    "Removed",
    "Report",
    "SeenBranch",
    "SeenWorktree",
    "Snapshots",
    "Step",
    "Switched",
    "Wanted",
    "Work",
    "Worktrees",
    "open_snapshots",
    "open_worktrees",
    "trouble_of",
]
