"""Worktrees of git repositories: found, made, switched to, removed and restored. Sessions run in them."""

from betcode.worktrees.branches import SeenBranch
from betcode.worktrees.choosing import Wanted
from betcode.worktrees.contents import Contents
from betcode.worktrees.desk import Worktrees, open_worktrees
from betcode.worktrees.diffs import Diff
from betcode.worktrees.output import Output, Progress, Step
from betcode.worktrees.registry import SeenWorktree
from betcode.worktrees.reporting import BranchState, Report
from betcode.worktrees.snapshots import Snapshots, open_snapshots
from betcode.worktrees.switching import Switched
from betcode.worktrees.trash import Removed
from betcode.worktrees.troubles import trouble_of
from betcode.worktrees.work import Work

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
