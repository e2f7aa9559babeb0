"""Resolves names of commits."""

from pathlib import Path

from betcode.git.command import Git


async def commit_named(git: Git, at: str | Path, words: str) -> str:
    """Return the commit that a branch, a tag or another expression names; empty: none.

    Raises:
        GitFailed
    """
    asked = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{words}^{{commit}}")
    answer = await git.ask(*asked, at=at)
    return "" if answer.code else answer.text.strip()
