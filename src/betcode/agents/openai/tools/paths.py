"""Resolves paths: symbolic links are followed before a decision, and again before the action."""

import os
import stat
from pathlib import Path

from betcode.agents.openai.tools.plans import Unfit, Workspace

_LONGEST = 4096


def resolved(workspace: Workspace, path: str) -> Path:
    """Return the path without links; it need not exist.

    Raises:
        Unfit
    """
    if not path or len(path) > _LONGEST:
        raise Unfit("The path is empty or too long")
    try:
        return Path(os.path.realpath(workspace.root / Path(path).expanduser(), strict=False))
    except (OSError, RuntimeError) as error:
        raise Unfit(f"{path} cannot be resolved: {error}") from None


def is_inside(workspace: Workspace, place: Path) -> bool:
    return place == workspace.root or place.is_relative_to(workspace.root)


def unmoved(place: Path) -> Path:
    """Return the same path, if no link was inserted since the approval.

    Raises:
        Unfit
    """
    if Path(os.path.realpath(place, strict=False)) != place:
        raise Unfit(f"{place} became a link to another path after permission was requested")
    return place


def open_file(place: Path) -> int:
    """Return a descriptor of a regular file, never of one without an end or that blocks.

    Raises:
        Unfit, OSError
    """
    descriptor = os.open(unmoved(place), os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise Unfit(f"{place} is not a regular file")
    return descriptor
