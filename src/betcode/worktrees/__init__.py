"""Git worktrees: listing, creation, switching, removal and restoration. Sessions run in them."""

from betcode.worktrees.background_work import BackgroundWork
from betcode.worktrees.catalog.branches import SeenBranch
from betcode.worktrees.catalog.problems import problem_of
from betcode.worktrees.catalog.registry import SeenWorktree
from betcode.worktrees.catalog.switch import SwitchResult
from betcode.worktrees.create.plan import CreateRequest
from betcode.worktrees.create.setup_output import Progress, SetupOutput, SetupStep
from betcode.worktrees.inspect.contents import Contents
from betcode.worktrees.inspect.report import BranchState, WorktreeReport
from betcode.worktrees.remove.trash import RemovedWorktree
from betcode.worktrees.service import Worktrees, open_worktrees
from betcode.worktrees.turns.diffs import TurnDiff
from betcode.worktrees.turns.snapshots import Snapshots, open_snapshots

__all__ = [
    "BackgroundWork",
    "BranchState",
    "Contents",
    "CreateRequest",
    "Progress",
    "RemovedWorktree",
    "SeenBranch",
    "SeenWorktree",
    "SetupOutput",
    "SetupStep",
    "Snapshots",
    "SwitchResult",
    "TurnDiff",
    "WorktreeReport",
    "Worktrees",
    "open_snapshots",
    "open_worktrees",
    "problem_of",
]
