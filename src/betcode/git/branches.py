"""Lists the branches of a repository."""

import os
from dataclasses import dataclass

import anyio.to_thread

from betcode.domain.values.text import valid
from betcode.git.command import Git


@dataclass(frozen=True, slots=True)
class Branch:
    name: str  # of a remote one with the remote's name before it
    commit: str
    subject: str
    is_remote: bool = False
    is_head: bool = False  # of the main worktree
    checked_out_at: str = ""  # the worktree, links followed


_BRANCH_FACTS = ("refname", "objectname", "symref", "HEAD", "worktreepath", "contents:subject")
_BRANCH_FORMAT = "%00".join(f"%({each})" for each in _BRANCH_FACTS) + "%00%00"


async def listed_branches(git: Git, common_dir: str, *, remote: bool) -> list[Branch]:
    """All branches of a repository, the newest first, from one call.

    Raises:
        GitFailed
    """
    where = ("refs/heads", "refs/remotes") if remote else ("refs/heads",)
    how = (f"--format={_BRANCH_FORMAT}", "--sort=refname", "--sort=-committerdate")
    out = await git.run("for-each-ref", *how, *where, at=common_dir)
    return await anyio.to_thread.run_sync(_all_branches, os.fsdecode(out), abandon_on_cancel=True)


def _all_branches(text: str) -> list[Branch]:
    """Links are followed, so it may block."""
    found = []
    for record in text.split("\0\0\n"):
        if not record:
            continue
        ref, commit, symref, head, path, subject = record.split("\0", 5)
        is_remote = ref.startswith("refs/remotes/")
        if is_remote and symref:
            continue  # a remote's name for its HEAD
        name, subject = valid(ref), valid(subject)
        name = name.removeprefix("refs/remotes/").removeprefix("refs/heads/")
        place = os.path.realpath(path) if path else ""
        found.append(Branch(name, commit, subject, is_remote, head == "*" and not is_remote, place))
    return found
