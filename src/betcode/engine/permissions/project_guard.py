"""Keeps an agent from running what a project brings before a person has trusted that project."""

from __future__ import annotations

import logging
import shlex
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from betcode.config.schema import SETTINGS
from betcode.domain.agents.capabilities import Capabilities
from betcode.domain.agents.project_files import ALL_PROGRAMS, Program, ProjectFiles, ProjectItem, digest
from betcode.domain.bounded_io import FilesystemTimeout
from betcode.domain.errors import AgentUnavailable
from betcode.domain.values.text import shortened
from betcode.engine.core import events
from betcode.engine.permissions.project_scan import scan
from betcode.engine.permissions.trust import names_of
from betcode.util.user import home_directory
from betcode.v1 import agent_pb2 as v1

if TYPE_CHECKING:
    from betcode.engine.permissions.rule_files import RuleShelf
    from betcode.engine.shell.session import LiveSession

logger = logging.getLogger(__name__)

_OURS = frozenset(key.partition(".")[0] for key, setting in SETTINGS.items() if setting.of_project)
_SHOWN = 5
_MOST_SHOWN = 50
_LONGEST = 600
TRUST_RPC = "betcode.v1.PolicyService/TrustProject"
_MOST_RUNS = 50  # lines in the details of a notice


@dataclass(frozen=True, slots=True)
class ProjectInspection:
    """A directory as an agent would find it."""

    names: tuple[str, ...]  # the directory and its repository
    items: tuple[ProjectItem, ...]
    is_trusted: bool
    is_answered: bool = True  # the files could be looked at

    @property
    def needs_trust(self) -> bool:
        return not self.is_trusted and (bool(self.items) or not self.is_answered)

    def of(self, programs: Collection[Program]) -> ProjectInspection:
        """As the agents of these programs would find it."""
        return replace(self, items=tuple(item for item in self.items if item.program in programs))

    @property
    def digest(self) -> str:
        return digest(self.items)


class FileWork(Protocol):
    """Does something with files in a thread; raises FilesystemTimeout where they do not answer in time."""

    async def __call__(self, work: Callable[[], ProjectInspection], /) -> ProjectInspection: ...


async def inspect(
    shelf: RuleShelf,
    look_at_files: FileWork,
    directory: str,
    environment: Mapping[str, str],
    programs: Collection[Program] = ALL_PROGRAMS,
) -> ProjectInspection:
    """What agents would find there. Files that give no answer are files that nobody trusts."""

    def look() -> ProjectInspection:
        trust = shelf.trust(directory, environment)
        own = _own_directories(environment)
        names = tuple(names_of(directory))
        return ProjectInspection(names, scan(directory, programs, own, _OURS), trust.read())

    try:
        return await look_at_files(look)
    except FilesystemTimeout:
        return ProjectInspection((directory,), (), is_trusted=False, is_answered=False)


class ProjectGuard:
    """Of one session."""

    def __init__(self, session: LiveSession) -> None:
        self._session = session
        self._noticed = ""  # the digest of what was last said to be ignored
        # Of the directory and its repository, as the newest agent found them; empty: there is nothing to trust.
        # None: not known, because a daemon before this one started the agent or the files gave no answer.
        self._names: tuple[str, ...] | None = None

    async def look(self, environment: Mapping[str, str]) -> ProjectInspection:
        """The project as the next agent would find it."""
        session = self._session
        programs = session.capabilities.project_files
        if not programs:
            return ProjectInspection((session.directory,), (), is_trusted=False)
        return await inspect(
            session.context.rules, session.screening.book.file_io.run, session.directory, environment, programs
        )

    async def belongs_to(self, project: str) -> bool:
        """Whether the session's agent loads other files once this project is trusted, or no longer."""
        if self._names is not None:
            return project in self._names
        directory = self._session.directory
        try:
            names = await self._session.screening.book.file_io.run(lambda: names_of(directory))
        except FilesystemTimeout:
            names = [directory]
        return project in names

    def decide(self, found: ProjectInspection) -> tuple[ProjectFiles, list[v1.AgentEvent]]:
        """How the next agent is started, and what is said about that in the session.

        Raises:
            AgentUnavailable: the project is not trusted, and the agent cannot be started without its files.
        """
        nothing_known = () if found.is_answered else None
        self._names = found.names if found.items else nothing_known
        if not found.needs_trust:
            return ProjectFiles.TRUSTED if found.is_trusted else ProjectFiles.LOADED, []
        if fixed := unavoidable(found, self._session.capabilities):
            raise AgentUnavailable(_REFUSED.format(_listed(fixed)), directory=found.names[0])
        if self._noticed == found.digest:
            return ProjectFiles.IGNORED, []
        self._noticed = found.digest
        return ProjectFiles.IGNORED, [ignored_notice(found)]


_REFUSED = (
    "This directory is not trusted, and this agent cannot start without loading its project files ({}). "
    "Read the files, then run `betcode policy trust`, or remove them"
)


def unavoidable(found: ProjectInspection, can: Capabilities) -> tuple[ProjectItem, ...]:
    """What an agent would run although the project is not trusted."""
    return tuple(item for item in found.items if not (item.can_be_ignored and can.ignores_project_files))


def ignored_notice(found: ProjectInspection) -> v1.AgentEvent:
    """What was left out, and how to have it."""
    what = _listed(found.items) if found.is_answered else "its files cannot be read (timeout)"
    directory = found.names[0]
    command = trust_command(directory)
    message = (
        f"{directory} is not trusted: the agent runs without its project settings; deny rules still apply. "
        f"To trust it: {command}. Ignored: {what}"
    )
    return events.notice(
        v1.NOTICE_KIND_PROJECT,
        message,
        directory=directory,
        files="\n".join(map(str, shown_items(found.items))),
        runs="\n".join(islice((line for item in found.items for line in item.details), _MOST_RUNS)),
        command=command,
        rpc=TRUST_RPC,
        level="warning",
    )


def trust_command(directory: str) -> str:
    """The command that a person runs, with the directory as one word of a shell."""
    return f"betcode policy trust {shlex.quote(directory)}"


def shown_items(items: Collection[ProjectItem], most: int = _MOST_SHOWN) -> tuple[ProjectItem, ...]:
    """What people and clients are shown: those that prevent a start first; the last entry counts what is left out."""
    if len(items) <= most:
        return tuple(items)
    ordered = sorted(items, key=lambda item: item.can_be_ignored)
    rest = ordered[most - 1 :]
    counted = replace(rest[0], brings=f"{rest[0].brings}; and {len(rest) - 1} more files that are not listed")
    return (*ordered[: most - 1], counted)


def _listed(items: Collection[ProjectItem]) -> str:
    shown = [str(item) for item in list(items)[:_SHOWN]]
    more = [f"{len(items) - _SHOWN} more"] if len(items) > _SHOWN else []
    return shortened("; ".join(shown + more), _LONGEST)


def _own_directories(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Where the user's own settings for these programs are."""
    home = home_directory(environment)
    named = (environment.get(name) for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "OPENCODE_CONFIG_DIR"))
    own = [home / ".claude", home / ".codex", home / ".gemini", home / ".opencode", home / ".config"]
    return tuple(
        str(path) for each in (*own, *(Path(name) for name in named if name)) for path in {each, each.resolve()}
    )
