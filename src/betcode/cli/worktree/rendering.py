"""Worktrees as text for people and as JSON for programs."""

from collections.abc import Mapping, Sequence

from betcode.v1 import worktree_pb2 as v1
from betcode.wording.terminal_text import in_a_line

STATES: Mapping[int, str] = {
    v1.WORKTREE_STATE_CREATING: "creating",
    v1.WORKTREE_STATE_READY: "ready",
    v1.WORKTREE_STATE_STALE: "stale",
    v1.WORKTREE_STATE_REMOVING: "removing",
}
SETUPS: Mapping[int, str] = {
    v1.WORKTREE_SETUP_NONE: "none",
    v1.WORKTREE_SETUP_RUNNING: "running",
    v1.WORKTREE_SETUP_DONE: "done",
    v1.WORKTREE_SETUP_FAILED: "failed",
    v1.WORKTREE_SETUP_TIMED_OUT: "timed-out",
    v1.WORKTREE_SETUP_UNTRUSTED: "untrusted",
    v1.WORKTREE_SETUP_SKIPPED: "skipped",
}
BRANCHES: Mapping[int, str] = {
    v1.BRANCH_STATE_MERGED: "merged",
    v1.BRANCH_STATE_AHEAD: "ahead",
    v1.BRANCH_STATE_DETACHED: "detached",
    v1.BRANCH_STATE_GONE: "gone",
}
_SETUP_WORDS: Mapping[int, str] = {
    v1.WORKTREE_SETUP_RUNNING: "setting up",
    v1.WORKTREE_SETUP_FAILED: "setup failed",
    v1.WORKTREE_SETUP_TIMED_OUT: "setup timed out",
    v1.WORKTREE_SETUP_UNTRUSTED: "not set up",
}


def state_words(one: v1.WorktreeInfo) -> str:
    """Return the state in one or two words."""
    state = STATES.get(one.state, "unknown")
    if one.state == v1.WORKTREE_STATE_READY:
        state = _SETUP_WORDS.get(one.setup, state)
    return f"{state}, locked" if one.is_locked else state


def branch_words(one: v1.WorktreeInfo) -> str:
    return one.branch or (f"({one.head[:10]})" if one.head else "")


def counted(number: int, what: str) -> str:
    """Return a count with its noun: `1 session`, `2 sessions`."""
    return f"{number} {what}{'' if number == 1 else 's'}"


def info_json(one: v1.WorktreeInfo) -> dict[str, object]:
    """Return one worktree with every field, set or not."""
    return {
        "id": one.id,
        "name": one.name,
        "path": one.path,
        "branch": one.branch,
        "repo_path": one.repo_path,
        "state": STATES.get(one.state, "unknown"),
        "setup": SETUPS.get(one.setup, "unknown"),
        "is_main": one.is_main,
        "is_active": one.is_active,
        "was_adopted": one.was_adopted,
        "head": one.head,
        "base": one.base,
        "is_locked": one.is_locked,
        "locked": one.locked,
        "session_count": one.session_count,
        "active_session_id": one.active_session_id,
        "created_at": one.created_at.ToJsonString(),
        "last_used_at": one.last_used_at.ToJsonString(),
        "trouble": one.trouble,
    }


def contents_json(found: v1.WorktreeContents) -> dict[str, object]:
    """Return the contents that a removal would lose."""
    return {
        "is_clean": found.is_clean,
        "changed": [{"path": each.path, "status": each.status, "from_path": each.from_path} for each in found.changed],
        "changed_count": found.changed_count,
        "untracked": list(found.untracked),
        "untracked_count": found.untracked_count,
        "unpushed": [
            {"commit": each.commit, "subject": each.subject, "committed_at": each.committed_at.ToJsonString()}
            for each in found.unpushed
        ],
        "unpushed_count": found.unpushed_count,
        "in_progress": found.in_progress,
        "brought_along_changed": list(found.brought_along_changed),
        "submodules": list(found.submodules),
    }


def contents_lines(found: v1.WorktreeContents) -> list[str]:
    """Return lines for the contents that a removal would lose, with every file that the daemon named."""
    lines: list[str] = []
    if found.in_progress:
        lines.append(f"In progress: {found.in_progress}")
    changed = [
        f"{each.status} {each.from_path} -> {each.path}" if each.from_path else f"{each.status} {each.path}"
        for each in found.changed
    ]
    unpushed = [f"{each.commit[:10]} {each.subject}" for each in found.unpushed]
    lines += _section("Changed", changed, found.changed_count)
    lines += _section("Untracked", found.untracked, found.untracked_count)
    lines += _section("Commits that exist only here", unpushed, found.unpushed_count)
    lines += _section("Copied files changed since", found.brought_along_changed, 0)
    lines += _section("In submodules", found.submodules, 0)
    return lines


def _section(title: str, each: Sequence[str], count: int) -> list[str]:
    count = max(count, len(each))
    if not count:
        return []
    more = [f"  … and {count - len(each)} more"] if count > len(each) else []
    return [f"{title} ({count}):", *(f"  {in_a_line(one)}" for one in each), *more]


def removed_json(one: v1.RemovedWorktree) -> dict[str, object]:
    """Return a removed worktree that can be restored."""
    return {
        "id": one.id,
        "name": one.name,
        "branch": one.branch,
        "path": one.path,
        "repo_path": one.repo_path,
        "head": one.head,
        "removed_at": one.removed_at.ToJsonString(),
        "kept_until": one.kept_until.ToJsonString(),
        "ref": one.ref,
        "changed_count": one.changed_count,
        "untracked_count": one.untracked_count,
        "unpushed_count": one.unpushed_count,
    }


def report_json(one: v1.WorktreeReport) -> dict[str, object]:
    """Return the disk use of a worktree, and whether it may be removed."""
    return {
        "worktree": info_json(one.worktree),
        "size_bytes": one.size_bytes,
        "is_size_partial": one.is_size_partial,
        "branch_state": BRANCHES.get(one.branch_state, ""),
        "changed_count": one.changed_count,
        "untracked_count": one.untracked_count,
        "unpushed_count": one.unpushed_count,
        "last_session_id": one.last_session_id,
        "last_session_at": one.last_session_at.ToJsonString() if one.HasField("last_session_at") else "",
        "may_be_removed": one.may_be_removed,
        "reason": one.reason,
    }
