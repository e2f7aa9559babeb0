"""Trusted projects: decisions made in betcode, and those made in Claude Code itself."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

from betcode.engine.permissions.claude_trust import LIMIT_BYTES
from betcode.engine.permissions.watched_file import WatchedFile
from betcode.git.links import repository_of_linked
from betcode.git.repository import nearest_top
from betcode.util.atomic_files import replace_file
from betcode.util.wall_clock import now_ns

FILE_NAME = "trusted-projects.json"
_VERSION = 1
_MOST_DECLINED = 1000


@dataclass(frozen=True, slots=True)
class TrustedProject:
    directory: str
    since_ns: int
    by: str  # the client that said so
    claude_config: str = ""  # the file of Claude Code in which betcode listed the project


class TrustedProjects:
    """The list kept here: a private file, written as a whole or not at all."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._writing = Lock()

    def listed(self) -> list[TrustedProject]:
        """All of them, by directory; a file that cannot be read trusts nobody."""
        file = WatchedFile(self.path)
        file.read()
        return sorted(_projects(file.text).values(), key=lambda project: project.directory)

    def set(self, directory: str, *, trusted: bool, by: str, claude_config: str = "") -> bool:
        """Trust a directory from now on, or no longer; False: it was so before. It may block.

        Raises:
            OSError: the file cannot be written; nothing has changed.
        """
        with self._writing:
            file = WatchedFile(self.path)
            file.read()
            projects, declined = _projects(file.text), _declined(file.text)
            name = os.path.realpath(directory)
            if (name in projects) is trusted:
                return False
            if trusted:
                projects[name] = TrustedProject(name, now_ns(), by, claude_config)
                declined.pop(name, None)
            else:
                del projects[name]
            self._write(projects, declined)
            return True

    def declined(self) -> dict[str, str]:
        """The projects that people were asked about and did not trust, each with the digest of what it brought."""
        file = WatchedFile(self.path)
        file.read()
        return {name: str(entry["digest"]) for name, entry in _declined(file.text).items()}

    def decline(self, project: str, digest: str, *, by: str) -> None:
        """Remember that a person does not trust what this project brings now. It may block.

        Raises:
            OSError: the file cannot be written; nothing has changed.
        """
        with self._writing:
            file = WatchedFile(self.path)
            file.read()
            projects, declined = _projects(file.text), _declined(file.text)
            declined[project] = {"digest": digest, "at_ns": now_ns(), "by": by}
            for name in list(declined)[: max(len(declined) - _MOST_DECLINED, 0)]:
                del declined[name]
            self._write(projects, declined)

    def _write(self, projects: Mapping[str, TrustedProject], declined: Mapping[str, object]) -> None:
        entries = {name: _entry(project) for name, project in projects.items()}
        text = json.dumps({"version": _VERSION, "projects": entries, "declined": declined}, indent=1)
        replace_file(self.path, text.encode())


class Trust:
    """Whether one directory is trusted; read again when one of the two files that say so changes."""

    def __init__(self, directory: str, own_list: Path | None, claude_config: Path) -> None:
        self._directory = directory
        self._own = None if own_list is None else WatchedFile(own_list)
        self._claude = WatchedFile(claude_config, limit_bytes=LIMIT_BYTES)

    @property
    def has_changed(self) -> bool:
        return any(file.has_changed for file in self._files)

    def read(self) -> bool:
        """Whether it is trusted now. It may block."""
        for file in self._files:
            file.read()
        names = names_of(self._directory)
        own = _projects(self._own.text) if self._own is not None else {}
        return any(name in own for name in names) or _claude_trusts(self._claude.text, names)

    @property
    def _files(self) -> list[WatchedFile]:
        return [self._claude] if self._own is None else [self._own, self._claude]


def claude_config(environment: Mapping[str, str], home: str) -> Path:
    """Where Claude Code, started in this environment, keeps what people told it of projects."""
    return Path(environment.get("CLAUDE_CONFIG_DIR") or home) / ".claude.json"


def project_of(directory: str) -> str:
    """What is trusted when somebody says so of a directory: of a linked worktree its repository. It may block."""
    name = os.path.realpath(directory)
    return repository_of_linked(name) or name


def names_of(directory: str) -> list[str]:
    """The directory and the repository that it is part of, as Claude Code has it: no other directory above counts.

    That of a linked worktree is found where the two name each other.
    """
    names = [os.path.realpath(directory), str(Path(directory).absolute())]
    top = nearest_top(names[0])
    if top:
        names += [top, repository_of_linked(top) or top]
    return list(dict.fromkeys(names))


def _entry(project: TrustedProject) -> dict[str, object]:
    listed = {"claude_config": project.claude_config} if project.claude_config else {}
    return {"since_ns": project.since_ns, "by": project.by, **listed}


def _projects(text: str | None) -> dict[str, TrustedProject]:
    try:
        value = json.loads(text or "{}")
        entries = value["projects"].items()
        return {
            name: TrustedProject(name, int(entry["since_ns"]), str(entry["by"]), str(entry.get("claude_config", "")))
            for name, entry in entries
        }
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return {}


def _declined(text: str | None) -> dict[str, dict[str, object]]:
    try:
        entries = json.loads(text or "{}").get("declined", {}).items()
        return {name: {**entry, "digest": str(entry["digest"])} for name, entry in entries}
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return {}


def _claude_trusts(text: str | None, names: list[str]) -> bool:
    try:
        projects = json.loads(text or "{}")["projects"]
        return any(projects.get(name, {}).get("hasTrustDialogAccepted") is True for name in names)
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return False
