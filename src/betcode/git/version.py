"""Checks the version of git."""

import re

OLDEST = (2, 36)  # `git worktree list -z`
ADVICE = f"install git {OLDEST[0]}.{OLDEST[1]} or newer"
_SAID = re.compile(r"git version (\d+)\.(\d+)\S*")


def unfit(said: str) -> str:
    """Return why a program with this version output cannot be used; empty: it can."""
    found = _SAID.match(said)
    if found is None:
        return f"git does not report its version: {ADVICE}"
    if (int(found[1]), int(found[2])) < OLDEST:
        return f"{version_of(said)} is too old: {ADVICE}"
    return ""


def version_of(said: str) -> str:
    """Such as `git 2.39.5`."""
    found = _SAID.match(said)
    return found[0].replace("version ", "") if found else "git"
