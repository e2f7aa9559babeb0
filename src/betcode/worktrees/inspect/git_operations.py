"""Detects unfinished git operations (merge, rebase, …) from files of the git directory."""

from pathlib import Path

_OPERATIONS = (
    ("rebase-merge", "a rebase"),
    ("rebase-apply/applying", "a git am"),
    ("rebase-apply", "a rebase"),
    ("MERGE_HEAD", "a merge"),
    ("CHERRY_PICK_HEAD", "a cherry-pick"),
    ("REVERT_HEAD", "a revert"),
    ("sequencer", "a cherry-pick or revert"),
    ("BISECT_LOG", "a bisection"),
)
# Files of one worktree, which a restore brings back. Refs of a bisection are not in files.
KEPT_FILES = (
    "MERGE_HEAD",
    "MERGE_MODE",
    "MERGE_MSG",
    "MERGE_RR",
    "SQUASH_MSG",
    "CHERRY_PICK_HEAD",
    "REVERT_HEAD",
    "REBASE_HEAD",
    "AUTO_MERGE",
    "ORIG_HEAD",
    "config.worktree",
    "info/sparse-checkout",
)
KEPT_DIRECTORIES = ("rebase-merge", "rebase-apply", "sequencer")
_FILE_LIMIT_BYTES = 8 * 1024 * 1024


def in_progress(git_dir: Path) -> str:
    """Return the operation in progress, such as "a merge"; empty: none. It may block."""
    return next((words for name, words in _OPERATIONS if (git_dir / name).exists()), "")


def kept_files(git_dir: Path) -> dict[str, bytes]:
    """The files that a restore puts back, by their names. It may block.

    Raises:
        OSError
    """
    found = [git_dir / name for name in KEPT_FILES]
    for name in KEPT_DIRECTORIES:
        found += sorted((git_dir / name).rglob("*"))
    return {
        str(each.relative_to(git_dir)): each.read_bytes()
        for each in found
        if each.is_file() and not each.is_symlink() and each.stat().st_size <= _FILE_LIMIT_BYTES
    }
