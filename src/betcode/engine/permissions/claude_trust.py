"""Claude Code's own list of trusted projects: `hasTrustDialogAccepted` in its `.claude.json`.

Claude Code drops allow rules and additional directories of a project that is not in this list, and neither a flag nor a
variable changes that. Everything else in the file keeps its value.
"""

import errno
import json
import os
import time
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from betcode.config.plain_file import read_plain
from betcode.git.repository import nearest_top
from betcode.util.atomic_files import replacing
from betcode.util.wall_clock import now_ns

LIMIT_BYTES = 64 * 1024 * 1024  # it has histories in there, too
_ACCEPTED = "hasTrustDialogAccepted"
_LOCK_WAIT_S = 3.0
_LOCK_STALE_NS = 10_000_000_000  # Claude Code renews its own every few seconds


def is_one_project(project: str) -> bool:
    """Whether Claude Code lists this directory by its own name; a directory of a repository it lists by the whole."""
    return nearest_top(project) in (None, "", project)


def accept(config: Path, project: str) -> None:
    """List the project. It may block.

    Raises:
        OSError: the file cannot be changed, and is as it was.
    """
    with _changing(config) as projects:
        projects.setdefault(_key(project), {})[_ACCEPTED] = True


def retract(config: Path, project: str) -> None:
    """List the project no longer. It may block.

    Raises:
        OSError: the file cannot be changed, and is as it was.
    """
    if not config.exists():
        return
    with _changing(config) as projects:
        entry = projects.get(_key(project), {})
        if entry.get(_ACCEPTED) is True:
            entry[_ACCEPTED] = False
        if entry == {_ACCEPTED: False}:
            del projects[_key(project)]


def _key(project: str) -> str:
    return unicodedata.normalize("NFC", project)


@contextmanager
def _changing(config: Path) -> Iterator[dict[str, Any]]:
    with _locked(config):
        settings = _read(config)
        projects = settings.setdefault("projects", {})
        before = json.dumps(settings)
        try:
            yield projects
            after = json.dumps(settings, indent=2)
        except (AttributeError, TypeError):
            raise OSError(errno.EINVAL, f"{config} has projects in an unknown form") from None
        if json.dumps(settings) != before:
            _write(Path(os.path.realpath(config)), after)


@contextmanager
def _locked(config: Path) -> Iterator[None]:
    """Claude Code's own lock: a directory beside the file."""
    lock = Path(f"{config}.lock")
    deadline = time.monotonic() + _LOCK_WAIT_S
    while True:
        try:
            lock.mkdir()
            break
        except FileExistsError:
            with suppress(OSError):
                if now_ns() - lock.stat().st_mtime_ns > _LOCK_STALE_NS:
                    lock.rmdir()
                    continue
            if time.monotonic() > deadline:
                raise TimeoutError(errno.ETIMEDOUT, f"Claude Code is writing {config}") from None
            time.sleep(0.02)
    try:
        yield
    finally:
        with suppress(OSError):
            lock.rmdir()


def _read(config: Path) -> dict[str, Any]:
    try:
        data = read_plain(config, LIMIT_BYTES + 1)
    except FileNotFoundError:
        return {}
    try:
        settings = json.loads(data) if len(data) <= LIMIT_BYTES else None
    except (ValueError, RecursionError):
        settings = None
    if not isinstance(settings, dict):
        raise OSError(errno.EINVAL, f"{config} has no JSON object")
    return settings


def _write(path: Path, text: str) -> None:
    with replacing(path) as file:
        with suppress(FileNotFoundError):
            os.fchmod(file.fileno(), path.stat().st_mode & 0o777)
        file.write(text.encode())
