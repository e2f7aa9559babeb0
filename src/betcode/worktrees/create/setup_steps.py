"""Determines the programs of a setup and their environment."""

import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from betcode.config.load import WrongSetting
from betcode.config.projects import worktrees_in_project
from betcode.config.settings import WorktreeSettings
from betcode.domain.repositories.setup_script import SCRIPT, variables_of
from betcode.domain.repositories.worktrees import RepositoryRow, WorktreeRow
from betcode.domain.values.secrets import is_secret_name, redacted
from betcode.domain.values.text import shortened
from betcode.worktrees.context import WorktreeContext

_PASSED_ON = ("HOME", "PATH", "USER", "LOGNAME", "SHELL", "LANG", "TMPDIR")
_PASSED_ON_FAMILIES = ("LC_", "XDG_")
_SHOWN = 80  # characters of a command


@dataclass(frozen=True, slots=True)
class SetupCommand:
    """One program of a setup."""

    words: str  # for people
    argv: Sequence[str]


@dataclass(frozen=True, slots=True)
class SetupPlan:
    """All steps of a setup. Steps of the project are included only if the project is trusted."""

    stages: tuple[SetupCommand, ...]
    bring_along: tuple[str, ...]
    timeout_s: float
    variables: tuple[str, ...]  # names
    untrusted: tuple[str, ...] = ()  # steps that are omitted for that reason


def setup_plan(context: WorktreeContext, repository: RepositoryRow, worktree: str, *, trusted: bool) -> SetupPlan:
    """Return the steps of a setup of the worktree at that path. It may block.

    Raises:
        WrongSetting: of the project, or of the user.
    """
    # A bare repository has only the files of its worktrees.
    project = worktree if repository.is_bare else repository.path
    mine = worktrees_in_project(context.settings, "", context.fixed, context.user_file)
    script = _script(worktree, project)
    try:
        theirs = worktrees_in_project(context.settings, project, context.fixed, context.user_file)
    except WrongSetting:
        if trusted:
            raise
        theirs = mine
    if trusted:
        stages = (*([script] if script else []), *_commands(theirs))
        return SetupPlan(stages, theirs.bring_along, theirs.setup_timeout_s, theirs.setup_environment)
    untrusted = [
        *([SCRIPT] if script else []),
        *(["its setup commands"] if theirs.setup_commands != mine.setup_commands else []),
        *(["its files to copy"] if theirs.bring_along != mine.bring_along else []),
    ]
    return SetupPlan(_commands(mine), mine.bring_along, mine.setup_timeout_s, mine.setup_environment, tuple(untrusted))


def _commands(settings: WorktreeSettings) -> tuple[SetupCommand, ...]:
    return tuple(SetupCommand(shortened(shlex.join(argv), _SHOWN), argv) for argv in settings.setup_commands)


def _script(*directories: str) -> SetupCommand | None:
    """The worktree's own, else the repository's."""
    for directory in directories:
        file = Path(directory) / SCRIPT
        if file.is_file():
            return SetupCommand(SCRIPT, [str(file)] if _runs_by_itself(file) else ["/bin/sh", str(file)])
    return None


def _runs_by_itself(file: Path) -> bool:
    if not os.access(file, os.X_OK):
        return False
    try:
        with file.open("rb") as script:
            return script.read(4).startswith((b"#!", b"\x7fELF"))
    except OSError:  # it may be run and not be read
        return True


def environment_for(
    login: Mapping[str, str], names: Sequence[str], repository: RepositoryRow, row: WorktreeRow
) -> dict[str, str]:
    """Return the environment of a setup: the declared variables, and nothing that looks like a key."""
    usual = {n: v for n, v in login.items() if n in _PASSED_ON or n.startswith(_PASSED_ON_FAMILIES)}
    wanted = {n: login[n] for n in names if n in login and not is_secret_name(n) and redacted(login[n]) == login[n]}
    return {
        **{name: value for name, value in usual.items() if not is_secret_name(name)},
        **wanted,
        "TERM": "dumb",
        **variables_of(worktree_id=row.id, name=row.name, path=row.path, branch=row.branch, repository=repository.path),
    }
