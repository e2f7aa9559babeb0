"""Requests about rules and trusted projects. Sessions detect the changes themselves."""

import logging
import os
from collections.abc import AsyncGenerator, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import anyio.to_thread

from betcode.domain.agents.project_files import ProjectItem
from betcode.domain.bounded_io import FilesystemTimeout
from betcode.domain.errors import InvalidRequest, SessionNotFound
from betcode.domain.permissions.audit import AuditEntry, AuditKind, DecidedBy
from betcode.domain.store.changes import AddAudit
from betcode.domain.values.identifiers import SessionId
from betcode.engine.context import EngineContext
from betcode.engine.permissions import claude_trust
from betcode.engine.permissions.policy_check import PolicyCheckResult, check
from betcode.engine.permissions.policy_dry_run import DryRunResult, try_rules
from betcode.engine.permissions.project_guard import ProjectInspection, inspect, unavoidable
from betcode.engine.permissions.rule_files import RuleBook
from betcode.engine.permissions.trust import (
    FILE_NAME,
    Trust,
    TrustedProject,
    TrustedProjects,
    claude_config,
    project_of,
)
from betcode.engine.shell.working_directory import last_known_directory
from betcode.util.user import home_directory
from betcode.util.wall_clock import now_ns

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class InspectedProject:
    """What a project brings for a kind of agent, and what people said to it."""

    inspected: ProjectInspection
    project: str  # what would be trusted
    is_declined: bool  # a person was asked about just this, and said no
    unavoidable: tuple[ProjectItem, ...]  # what keeps the agent from being started


class Policy:
    """Part of the engine's front door."""

    def __init__(self, context: EngineContext) -> None:
        self._context = context
        paths = context.rules.paths
        self._trusted = None if paths is None else TrustedProjects(paths.state_dir / FILE_NAME)

    async def rule_book(
        self, directory: str, environment: Mapping[str, str] | None = None, allowed_tools: Iterable[str] = ()
    ) -> RuleBook:
        """The rules that hold for an agent in that directory, as the files are now."""
        book = self._context.rules.book(directory, environment, allowed_tools)
        await book.refresh()
        return book

    async def check(
        self, tool: str, input_json: str, *, directory: str, session: SessionId | None
    ) -> PolicyCheckResult:
        """What rules and grants would say to a use, as the files are now; nothing is recorded.

        Raises:
            InvalidRequest, SessionNotFound
        """
        return await check(self._context, tool, input_json, directory=directory, session=session)

    def try_rules(self, text: str, path: str, since_ns: int) -> AsyncGenerator[DryRunResult, None]:
        """Hold recorded uses of tools against the rules of a settings file; what came of it, as it grows.

        Raises:
            InvalidRequest: it is no settings file.
        """
        return try_rules(self._context, text, path, since_ns)

    async def trusted(self) -> list[TrustedProject]:
        """The projects that people trusted here."""
        return [] if self._trusted is None else await anyio.to_thread.run_sync(self._trusted.listed)

    async def is_trusted(self, directory: str) -> bool:
        """Whether a person trusted what comes with this project, here or in Claude Code.

        A directory that gives no answer in time is not trusted.
        """
        paths = self._context.rules.paths
        own_list = None if paths is None else paths.state_dir / FILE_NAME
        trust = Trust(directory, own_list, claude_config(os.environ, str(home_directory(os.environ))))
        try:
            return await self._context.file_io.run(directory, trust.read)
        except FilesystemTimeout:
            return False

    async def project_of(self, directory: str, *, trusted: bool) -> str:
        """What is meant by a directory: a linked worktree stands for its repository.

        Raises:
            InvalidRequest: it is no directory.
        """
        # In a thread: a directory may be on a disk that does not answer.
        own = await anyio.to_thread.run_sync(_project, directory, trusted, abandon_on_cancel=True)
        if own is None:
            raise InvalidRequest(f"{directory[:500]!r} is not a directory")
        if not trusted and any(project.directory == own for project in await self.trusted()):
            return own  # a worktree may have been trusted by itself
        return await anyio.to_thread.run_sync(project_of, own, abandon_on_cancel=True)

    async def inspect(self, directory: str, *, session: SessionId | None = None) -> InspectedProject:
        """What agents would load from the files of a session's project, or of any directory.

        Raises:
            InvalidRequest: it is no directory.
            SessionNotFound
        """
        context = self._context
        can = None
        environment: Mapping[str, str] = os.environ
        if session is not None:
            row = await context.store.find_session(session)
            if row is None:
                raise SessionNotFound(session)
            directory, environment = await last_known_directory(context, row.new), row.new.environment or environment
            provider = context.providers.get(row.new.provider)
            can = None if provider is None else provider.capabilities_for(row.new)
        project = await self.project_of(directory, trusted=True)
        found = await inspect(context.rules, lambda work: context.file_io.run(directory, work), directory, environment)
        declined = {} if self._trusted is None else await anyio.to_thread.run_sync(self._trusted.declined)
        mine = found if can is None else found.of(can.project_files)
        return InspectedProject(
            inspected=mine,
            project=project,
            is_declined=declined.get(project) == found.digest,
            unavoidable=() if can is None or found.is_trusted else unavoidable(mine, can),
        )

    async def decline(self, project: str, directory: str, *, client: str = "") -> None:
        """Remember that a person was asked about what this project brings now, and does not trust it.

        Raises:
            InvalidRequest: the list cannot be written.
        """
        trusted = self._trusted
        if trusted is None:
            raise InvalidRequest("This daemon has no list of trusted projects")
        look_at = self._context.file_io.run
        found = await inspect(self._context.rules, lambda work: look_at(directory, work), directory, os.environ)
        try:
            await anyio.to_thread.run_sync(lambda: trusted.decline(project, found.digest, by=client))
        except OSError as trouble:
            raise InvalidRequest(f"The list of trusted projects cannot be written: {trouble.strerror}") from None

    async def trust(self, directory: str, *, trusted: bool, client: str = "", peer: str = "") -> bool:
        """Let a project's own allow rules count from now on, or no longer; False: it was so before.

        Raises:
            InvalidRequest: it is no directory, or the list cannot be written.
            StorageDegraded: the decision cannot be kept, so it is not made.
        """
        name = await self.project_of(directory, trusted=trusted)
        if self._trusted is None:
            raise InvalidRequest("This daemon has no list of trusted projects")
        is_listed = any(project.directory == name for project in await self.trusted())
        if is_listed is trusted:
            return False
        entry = AuditEntry(
            at_ns=now_ns(),
            session_id="",
            request_id="",
            tool_name="",
            input_sha256="",
            what=AuditKind.TRUST,
            outcome="granted" if trusted else "cleared",
            decided_by=DecidedBy.PERSON,
            rule=name,
            client=client,
            peer=peer,
        )
        await self._context.store.commit([AddAudit(entry)])  # first: nothing is trusted that nobody can find out about
        try:
            changed = await anyio.to_thread.run_sync(lambda: self._change(name, trusted, client))
        except OSError as trouble:
            raise InvalidRequest(f"The list of trusted projects cannot be written: {trouble.strerror}") from None
        for agent in self._context.memory.live:
            if await agent.belongs_to(name):
                agent.outdate()  # the next agent is started as the project is trusted now
        return changed

    def _change(self, name: str, trusted: bool, client: str) -> bool:
        assert self._trusted is not None
        if not trusted:
            for project in self._trusted.listed():
                if project.directory == name and project.claude_config:
                    claude_trust.retract(Path(project.claude_config), name)  # first: its list counts here, too
            return self._trusted.set(name, trusted=False, by=client)
        config = claude_config(os.environ, str(home_directory(os.environ)))
        lists = (
            self._context.rules.trusts_for_claude
            and claude_trust.is_one_project(name)
            and not Trust(name, None, config).read()
        )
        # The record comes first: an entry that nobody knows of could not be taken back.
        changed = self._trusted.set(name, trusted=True, by=client, claude_config=str(config) if lists else "")
        if lists:
            try:
                claude_trust.accept(config, name)
            except OSError as trouble:  # it is trusted here; Claude Code ignores the project's allow rules, as before
                logger.warning("Claude Code's list of trusted projects is unchanged: %s", trouble)
        return changed


def _project(directory: str, must_exist: bool) -> str | None:
    """The directory's own name; None where it is none."""
    if not Path(directory).is_absolute() or "\0" in directory:
        return None
    name = os.path.realpath(directory)
    return name if not must_exist or Path(name).is_dir() else None
