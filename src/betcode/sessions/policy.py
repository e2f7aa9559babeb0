"""What people ask about rules and say about projects; the sessions find out by themselves."""

import os
from collections.abc import AsyncGenerator, Iterable, Mapping
from pathlib import Path

import anyio.to_thread

from betcode.domain.audit import Audited, AuditEntry, DecidedBy
from betcode.domain.changes import AddAudit
from betcode.domain.errors import InvalidRequest
from betcode.domain.identifiers import SessionId
from betcode.domain.looks import NoAnswer
from betcode.sessions.policy_check import Checked, check
from betcode.sessions.policy_try import Tried, try_rules
from betcode.sessions.room import Room
from betcode.sessions.rule_book import RuleBook
from betcode.sessions.trust import FILE_NAME, Trust, TrustedProject, TrustedProjects, claude_config, project_of
from betcode.util.user import home_directory
from betcode.util.wall_clock import now_ns


class Policy:
    """Part of the engine's front door."""

    def __init__(self, room: Room) -> None:
        self._room = room
        places = room.rules.places
        self._trusted = None if places is None else TrustedProjects(places.state_dir / FILE_NAME)

    async def rule_book(
        self, directory: str, environment: Mapping[str, str] | None = None, allowed_tools: Iterable[str] = ()
    ) -> RuleBook:
        """The rules that hold for an agent in that directory, as the files are now."""
        book = self._room.rules.book(directory, environment, allowed_tools)
        await book.refresh()
        return book

    async def check(self, tool: str, input_json: str, *, directory: str, session: SessionId | None) -> Checked:
        """What rules and grants would say to a use, as the files are now; nothing is recorded.

        Raises:
            InvalidRequest, SessionNotFound
        """
        return await check(self._room, tool, input_json, directory=directory, session=session)

    def try_rules(self, text: str, path: str, since_ns: int) -> AsyncGenerator[Tried, None]:
        """Hold recorded uses of tools against the rules of a settings file; what came of it, as it grows.

        Raises:
            InvalidRequest: it is no settings file.
        """
        return try_rules(self._room, text, path, since_ns)

    async def trusted(self) -> list[TrustedProject]:
        """The projects that people trusted here."""
        return [] if self._trusted is None else await anyio.to_thread.run_sync(self._trusted.listed)

    async def is_trusted(self, directory: str) -> bool:
        """Whether a person trusted what comes with this project, here or in Claude Code.

        A directory that gives no answer in time is not trusted.
        """
        places = self._room.rules.places
        own_list = None if places is None else places.state_dir / FILE_NAME
        trust = Trust(directory, own_list, claude_config(os.environ, str(home_directory(os.environ))))
        try:
            return await self._room.looks.look(directory, trust.read)
        except NoAnswer:
            return False

    async def project_of(self, directory: str, *, trusted: bool) -> str:
        """What is meant by a directory: a linked worktree stands for its repository.

        Raises:
            InvalidRequest: it is no directory.
        """
        # In a thread: a directory may be on a disk that does not answer.
        own = await anyio.to_thread.run_sync(_project, directory, trusted, abandon_on_cancel=True)
        if own is None:
            raise InvalidRequest(f"{directory[:500]!r} is no directory")
        if not trusted and any(project.directory == own for project in await self.trusted()):
            return own  # a worktree may have been trusted by itself
        return await anyio.to_thread.run_sync(project_of, own, abandon_on_cancel=True)

    async def trust(self, directory: str, *, trusted: bool, client: str = "", peer: str = "") -> bool:
        """Let a project's own allow rules count from now on, or no longer; False: it was so before.

        Raises:
            InvalidRequest: it is no directory, or the list cannot be written.
            StorageDegraded: the decision cannot be kept, so it is not made.
        """
        name = await self.project_of(directory, trusted=trusted)
        if self._trusted is None:
            raise InvalidRequest("No projects are trusted here: there is no place for the list")
        is_listed = any(project.directory == name for project in await self.trusted())
        if is_listed is trusted:
            return False
        entry = AuditEntry(
            at_ns=now_ns(),
            session_id="",
            request_id="",
            tool_name="",
            input_sha256="",
            what=Audited.TRUST,
            outcome="granted" if trusted else "cleared",
            decided_by=DecidedBy.PERSON,
            rule=name,
            client=client,
            peer=peer,
        )
        await self._room.store.commit([AddAudit(entry)])  # first: nothing is trusted that nobody can find out about
        try:
            return await anyio.to_thread.run_sync(lambda: self._change(name, trusted, client))
        except OSError as trouble:
            raise InvalidRequest(f"The list of trusted projects cannot be written: {trouble.strerror}") from None

    def _change(self, name: str, trusted: bool, client: str) -> bool:
        assert self._trusted is not None
        return self._trusted.set(name, trusted=trusted, by=client)


def _project(directory: str, must_exist: bool) -> str | None:
    """The directory's own name; None where it is none."""
    if not Path(directory).is_absolute() or "\0" in directory:
        return None
    name = os.path.realpath(directory)
    return name if not must_exist or Path(name).is_dir() else None
