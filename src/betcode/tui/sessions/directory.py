"""The list of sessions, refreshed periodically, and the numbers of the Alt+1…9 keys."""

from collections.abc import Iterable, Sequence
from typing import Protocol

import anyio

from betcode.client import ClientError
from betcode.client.session_lookup import SessionSource, summary_of
from betcode.util.signal import ResettableEvent
from betcode.v1 import agent_pb2 as v1

_EVERY_S = 3.0
_LISTED = 200  # sessions per page
_MOST = 5000  # limit of the list
_NUMBERS = 9


class SessionLister(SessionSource, Protocol):
    """The part of the client that is used here."""

    async def list_sessions(self, *, limit: int = 0, offset: int = 0) -> v1.ListSessionsResponse: ...


class SessionDirectory:
    """The newest sessions from the daemon; `revision` counts changes."""

    def __init__(self, client: SessionLister) -> None:
        self.sessions: tuple[v1.SessionSummary, ...] = ()
        self.total = 0
        self.trouble = ""  # why the list may be outdated
        self.revision = 0
        self.numbers = SessionNumbers()
        self.lists = 0  # the number of open lists that show all sessions, not only the newest
        self._by_id: dict[str, v1.SessionSummary] = {}
        self._client = client
        self._refresh_requested = ResettableEvent()

    async def run(self) -> None:
        """Refresh the list while the screen is open."""
        while True:
            self._refresh_requested.clear()
            await self.fetch()
            with anyio.move_on_after(_EVERY_S):
                await self._refresh_requested.wait()

    def refresh(self) -> None:
        """Refresh the list now, after an action on a session."""
        self._refresh_requested.set()

    async def fetch(self) -> None:
        """Fetch the list; if the daemon does not answer, the old one remains."""
        try:
            page = await self._client.list_sessions(limit=_LISTED)
            found = {one.id: one for one in page.sessions}
            asked = len(page.sessions)
            while self.lists and page.sessions and asked < min(page.total, _MOST):
                page = await self._client.list_sessions(limit=_LISTED, offset=asked)
                asked += len(page.sessions)
                for one in page.sessions:
                    found.setdefault(one.id, one)  # sessions may move between pages while the list is read
        except ClientError as error:
            self.trouble = error.message
        else:
            self.sessions, self.total, self.trouble = tuple(found.values()), page.total, ""
            self._by_id = found  # each frame looks up a session
            self.numbers.see(self.sessions)
        self.revision += 1

    def known(self, session_id: str) -> v1.SessionSummary | None:
        """Return the session from the last list."""
        return self._by_id.get(session_id)

    async def find(self, session_id: str) -> v1.SessionSummary | None:
        """Fetch the session; None if it does not exist.

        Raises:
            ClientError: the daemon does not answer.
        """
        return await summary_of(self._client, session_id)


class SessionNumbers:
    """Numbers of sessions, which are stable while a session is open."""

    def __init__(self) -> None:
        self._sessions: list[str] = [""] * _NUMBERS

    def see(self, sessions: Sequence[v1.SessionSummary]) -> None:
        """Update the numbers: those of ended sessions are reused, for the newest first."""
        is_open = {one.id for one in sessions if one.status != "closed"}
        self._sessions = [each if each in is_open else "" for each in self._sessions]
        for one in sessions:
            if one.status != "closed":
                self.add(one.id)

    def add(self, session_id: str) -> None:
        """Assign the first free number, if there is one."""
        if session_id not in self._sessions and "" in self._sessions:
            self._sessions[self._sessions.index("")] = session_id

    def of(self, session_id: str) -> int:
        """Return the number; 0 if there is none."""
        return self._sessions.index(session_id) + 1 if session_id and session_id in self._sessions else 0

    def session(self, number: int) -> str:
        """Return the session with this number; empty if there is none."""
        return self._sessions[number - 1]

    def beside(self, session_id: str, step: int) -> str:
        """Return the session `step` positions later, around the end; empty if there is no other."""
        taken = [each for each in self._sessions if each]
        if session_id not in taken:
            return taken[0] if taken else ""
        other = taken[(taken.index(session_id) + step) % len(taken)]
        return other if other != session_id else ""


def waits_for_person(one: v1.SessionSummary) -> bool:
    return one.pending_prompts > 0 or one.waiting_for == "person"


def in_order(sessions: Iterable[v1.SessionSummary], here: str = "") -> list[v1.SessionSummary]:
    """Sort sessions: waiting for a person, then working, then newest; closed ones last."""

    def rank(one: v1.SessionSummary) -> tuple[bool, int, int]:
        kind = 0 if waits_for_person(one) else 1 if one.status == "active" else 3 if one.status == "closed" else 2
        return bool(here) and one.working_directory != here, kind, -one.updated_at.ToNanoseconds()

    return sorted(sessions, key=rank)


def matches(one: v1.SessionSummary, words: str) -> bool:
    """Whether every word occurs in the row, or the id begins with it."""
    searched = f"{one.name}\n{one.last_message_preview}\n{one.provider} {one.model}"
    whole = f"{searched}\n{one.working_directory}\n{one.worktree_name}".lower()
    return all(word in whole or one.id.startswith(word) for word in words.lower().split())
