"""`worktree.*`: setup, trash and snapshots of worktrees."""

from betcode.config import value_types
from betcode.config.schema.setting import Setting
from betcode.config.setup_types import file_patterns, setup_commands, variable_names

WORKTREE: tuple[Setting, ...] = (
    Setting(
        "worktree.setup_commands",
        "worktree.setup_commands",
        setup_commands(),
        "setup commands for a new worktree, each a string or a list of words. They run in order, without a shell, "
        "after `.betcode/worktree-setup.sh`. Commands of a project run only if it is trusted",
        of_project=True,
    ),
    Setting(
        "worktree.setup_timeout",
        "worktree.setup_timeout_s",
        value_types.duration(1.0, 86400.0),
        "how long the whole setup of a worktree may take; then it is ended with everything it started",
        of_project=True,
    ),
    Setting(
        "worktree.setup_environment",
        "worktree.setup_environment",
        variable_names(),
        "names of variables that a setup gets in addition to the usual ones; keys and tokens are not passed on",
    ),
    Setting(
        "worktree.bring_along",
        "worktree.bring_along",
        file_patterns(),
        "untracked files of the repository that are copied into a new worktree, as patterns such as `.env*`",
        of_project=True,
    ),
    Setting(
        "worktree.trash_keep",
        "worktree.trash_keep_s",
        value_types.duration(3600.0),
        "how long a worktree that was removed by force can be restored",
    ),
    Setting(
        "worktree.snapshots",
        "worktree.snapshots",
        value_types.yes_or_no(),
        "whether the tree is recorded at the beginning and the end of each turn, for `betcode session diff`",
    ),
    Setting(
        "worktree.snapshot_file_limit",
        "worktree.snapshot_file_limit_bytes",
        value_types.size(),
        "an untracked file larger than this is omitted from snapshots",
    ),
)
