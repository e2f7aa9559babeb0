"""Commands in a real repository, beside which worktrees are made."""

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from support.command import Shell, shell
from support.patience import PATIENCE_S
from support.repositories import make_repository

SCRIPT = ".betcode/worktree-setup.sh"


@contextmanager
def repository_shell(
    root: Path, files: dict[str, str] | None = None, settings: Mapping[str, object] | None = None
) -> Iterator[Shell]:
    """Whose commands run in the main worktree of a repository called shop, on the branch main."""
    with shell(root, settings=settings) as commands:
        commands.work = make_repository(root / "shop", files)
        commands.environment["GIT_CONFIG_NOSYSTEM"] = "1"
        yield commands


def created(here: Shell, *words: str) -> Path:
    """Where a new worktree is."""
    done = here.run("worktree", "create", *words)
    assert done.returncode == 0, done.stderr
    return Path(done.stdout.removesuffix("\n"))


def listed(here: Shell) -> dict[str, Any]:
    """The worktrees of the repository, by their names."""
    return {one["name"]: one for one in here.json("worktree", "list", "--json")["worktrees"]}


def eventually(look: Callable[[], Any]) -> Any:
    """What is seen as soon as it is something."""
    deadline = time.monotonic() + PATIENCE_S
    while not (seen := look()):
        assert time.monotonic() < deadline
    return seen


def printed(text: str) -> Any:
    return json.loads(text)
