"""The list of sessions, refreshed periodically, and the numbers of the Alt+1…9 keys."""

from collections.abc import Iterable, Sequence
from typing import Protocol

import anyio

from betcode.client import ClientError
from betcode.client.session_lookup import SessionSource, summary_of
from betcode.v1 import agent_pb2 as v1

_EVERY_S = 3.0
_LISTED = 200  # in one page
_MOST = 5000  # a list that nobody reads to its end
_NUMBERS = 9


class SessionLister(SessionSource, Protocol):
    """The client, as far as it is needed here."""

    async def list_sessions(self, *, limit: int = 0, offset: int = 0) -> v1.ListSessionsResponse: ...


class SessionDirectory:
    """The newest sessions as the daemon lists them; `revision` says that there is something new to show."""

    def __init__(self, client: SessionLister) -> None:
        self.sessions: tuple[v1.SessionSummary, ...] = ()
        self.total = 0
        self.trouble = ""  # why what is shown may be old
        self.revision = 0
        self.numbers = SessionNumbers()
        self.lists = 0  # how many are open that show all there are, and not only the newest
        self._by_id: dict[str, v1.SessionSummary] = {}
        self._client = client
        self._wanted = anyio.Event()

    async def run(self) -> None:
        """As long as the screen is open."""
        while True:
            wanted = self._wanted = anyio.Event()
            await self.ask()
            with anyio.move_on_after(_EVERY_S):
                await wanted.wait()

    def look(self) -> None:
        """Something was done to a session: ask at once."""
        self._wanted.set()

    async def ask(self) -> None:
        """What there is now; where the daemon does not answer, what there was stays."""
        try:
            page = await self._client.list_sessions(limit=_LISTED)
            found = {one.id: one for one in page.sessions}
            asked = len(page.sessions)
            while self.lists and page.sessions and asked < min(page.total, _MOST):
                page = await self._client.list_sessions(limit=_LISTED, offset=asked)
                asked += len(page.sessions)
                for one in page.sessions:
                    found.setdefault(one.id, one)  # the list moves while it is read
        except ClientError as error:
            self.trouble = error.message
        else:
            self.sessions, self.total, self.trouble = tuple(found.values()), page.total, ""
            self._by_id = found  # each frame looks one up
            self.numbers.see(self.sessions)
        self.revision += 1

    def known(self, session_id: str) -> v1.SessionSummary | None:
        """As it was listed last."""
        return self._by_id.get(session_id)

    async def find(self, session_id: str) -> v1.SessionSummary | None:
        """As it is now; None where there is no such session.

        Raises:
            ClientError: the daemon does not answer.
        """
        return await summary_of(self._client, session_id)


class SessionNumbers:
    """Sessions keep their numbers as long as they are open, so that fingers learn them."""

    def __init__(self) -> None:
        self._places: list[str] = [""] * _NUMBERS

    def see(self, sessions: Sequence[v1.SessionSummary]) -> None:
        """Those that have ended give their numbers to others, the newest first."""
        is_open = {one.id for one in sessions if one.status != "closed"}
        self._places = [each if each in is_open else "" for each in self._places]
        for one in sessions:
            if one.status != "closed":
                self.add(one.id)

    def add(self, session_id: str) -> None:
        """It gets the first number that is free, where one is."""
        if session_id not in self._places and "" in self._places:
            self._places[self._places.index("")] = session_id

    def of(self, session_id: str) -> int:
        """0: it has none."""
        return self._places.index(session_id) + 1 if session_id and session_id in self._places else 0

    def session(self, number: int) -> str:
        """Empty where nobody has the number."""
        return self._places[number - 1]

    def beside(self, session_id: str, step: int) -> str:
        """The session that comes so many places later, around the end; empty where there is no other."""
        taken = [each for each in self._places if each]
        if session_id not in taken:
            return taken[0] if taken else ""
        other = taken[(taken.index(session_id) + step) % len(taken)]
        return other if other != session_id else ""


def waits_for_person(one: v1.SessionSummary) -> bool:
    return one.pending_prompts > 0 or one.waiting_for == "person"


def in_order(sessions: Iterable[v1.SessionSummary], here: str = "") -> list[v1.SessionSummary]:
    """What waits for a person first, then what is at work, then the newest; those that are closed at the end."""

    def rank(one: v1.SessionSummary) -> tuple[bool, int, int]:
        kind = 0 if waits_for_person(one) else 1 if one.status == "active" else 3 if one.status == "closed" else 2
        return bool(here) and one.working_directory != here, kind, -one.updated_at.ToNanoseconds()

    return sorted(sessions, key=rank)


def matches(one: v1.SessionSummary, words: str) -> bool:
    """Whether every word occurs in what a row says of it, or its id begins so."""
    said = f"{one.name}\n{one.last_message_preview}\n{one.provider} {one.model}"
    whole = f"{said}\n{one.working_directory}\n{one.worktree_name}".lower()
    return all(word in whole or one.id.startswith(word) for word in words.lower().split())
