"""The real git behind a program that notes each call."""

import shutil
from pathlib import Path


class CountedGit:
    """`directory` comes first on the PATH of whoever is watched."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._notes = directory / "calls"
        directory.mkdir()
        program = directory / "git"
        program.write_text(f'#!/bin/sh\necho "$@" >> "{self._notes}"\nexec "{shutil.which("git")}" "$@"\n')
        program.chmod(0o755)

    def calls(self) -> list[str]:
        """What was called since the last time this was asked, without the settings that all calls have."""
        lines = self._notes.read_text().splitlines() if self._notes.exists() else []
        self._notes.unlink(missing_ok=True)
        return [_plain(line.split()) for line in lines]


def _plain(words: list[str]) -> str:
    verbs = ("worktree", "rev-parse", "for-each-ref", "config", "status")
    return next((" ".join(words[at : at + 2]) for at, word in enumerate(words) if word in verbs), " ".join(words))
