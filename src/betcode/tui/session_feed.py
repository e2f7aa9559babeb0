"""Feeds the model from the daemon: the newest page, then new events, and older pages on demand."""

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from typing import Protocol

import anyio

from betcode.client import ClientError, ClientIdentity, Link, LinkState
from betcode.client.connection import OnLink
from betcode.domain.error_codes import ErrorCode
from betcode.tui.model.conversation import ConversationModel
from betcode.tui.model.session_status import SessionStatusModel
from betcode.v1 import agent_pb2 as v1

_AT_ONCE = 100  # events between two checks of the keyboard
_RETRY_S = 1.0  # between attempts to read a page
_CHECKS, _CHECK_S = 4, 0.5  # checks whether an ended session was deleted
_TODO_PAGES = 3  # pages to search for the agent's todo list


class HistoryClient(Protocol):
    """The part of the client that is used here."""

    @property
    def identity(self) -> ClientIdentity: ...

    async def read_events(
        self, session_id: str, *, before: int = 0, include_compacted: bool = False
    ) -> v1.ReadEventsResponse: ...

    def follow_batches(
        self, session_id: str, after: int = 0, *, on_link: OnLink, include_compacted: bool = False
    ) -> AsyncGenerator[Sequence[v1.AgentEvent], None]: ...


class SessionFeed:
    """Follows a session and calls `changed` after each batch; keys are handled in between."""

    def __init__(self, client: HistoryClient, summary: v1.SessionSummary, changed: Callable[[], None]) -> None:
        own = client.identity.client_id
        self.conversation = ConversationModel(own, summary.working_directory)
        self.session_status = SessionStatusModel(own)
        self.session_status.begin(summary)
        self.link: Link | None = None  # None: not connected yet
        self.has_ended = False
        self.is_loading = False  # an older page
        self.trouble = ""  # why the last page could not be loaded
        self._client = client
        self._changed = changed
        self._include_compacted = False

    async def run(self) -> None:
        """Follow the session to its end, across reconnects.

        Raises:
            ClientError: the daemon refuses, and a retry would not help.
        """
        refusal: ClientError | None = None
        async with anyio.create_task_group() as tasks:
            try:
                await self._read_newest()
                tasks.start_soon(self._find_todo_list)
                await self._follow()
            except ClientError as error:
                refusal = error
            tasks.cancel_scope.cancel()
        if refusal is not None:
            raise refusal

    async def is_deleted(self) -> bool:
        """Whether an ended session was deleted: it is closed first and disappears a moment later."""
        for _ in range(_CHECKS):
            try:
                await self._client.read_events(self.session_status.session_id, before=1)
            except ClientError as error:
                if error.code == ErrorCode.SESSION_NOT_FOUND:
                    return True
            await anyio.sleep(_CHECK_S)
        return False

    async def load_older(self, *, compacted: bool = False) -> bool:
        """Load the page before the oldest event, with `compacted` also compacted events; return whether there was one.

        A call during another one does nothing. It waits for a daemon that is away; `trouble` says what the daemon
        refuses.
        """
        if self.is_loading or not self.conversation.oldest:
            return False
        if not self.conversation.has_older and not (compacted and self.conversation.compacted_before):
            return False
        self._include_compacted |= compacted
        self.is_loading = True
        self._changed()
        try:
            page = await self._page(self.conversation.oldest)
            if page is None:
                return False
            older = self.conversation.older_page()
            for start in range(0, len(page.events), _AT_ONCE):
                older.take(page.events[start : start + _AT_ONCE])
                await anyio.lowlevel.checkpoint()
            self.conversation.prepend_page(older)
            self._note_page(page)
            for event in page.events:
                self.session_status.recall(event)
            self.trouble = ""
            return bool(page.events)
        except ClientError as error:
            self.trouble = error.message
            return False
        finally:
            self.is_loading = False
            self._changed()

    # ------------------------------------------------------------ from the newest page on

    async def _read_newest(self) -> None:
        page = await self._page()
        if page is None:
            return  # follow everything from the beginning
        await self._take(page.events)
        self.session_status.inform(page.session_info)
        self._note_page(page)
        self._changed()

    async def _page(self, before: int = 0) -> v1.ReadEventsResponse | None:
        """Read a page, with retries; None from a daemon without pages."""
        while True:
            try:
                return await self._client.read_events(
                    self.session_status.session_id, before=before, include_compacted=self._include_compacted
                )
            except ClientError as error:
                if error.is_unimplemented:
                    return None
                if not error.may_be_retried:
                    raise
                if not before:  # no stream exists yet that would report it
                    self._linked(Link(LinkState.BROKEN, retry_in_s=_RETRY_S, error=error))
            await anyio.sleep(_RETRY_S)

    async def _follow(self) -> None:
        # Events compacted during a disconnect come after those we have seen and belong to them.
        follow = self._client.follow_batches(
            self.session_status.session_id, self.conversation.newest, on_link=self._linked, include_compacted=True
        )
        async with aclosing(follow) as batches:
            async for batch in batches:
                await self._take(batch)
        self.has_ended = True
        self.conversation.end()
        self._changed()

    async def _take(self, events: Sequence[v1.AgentEvent]) -> None:
        for start in range(0, len(events), _AT_ONCE):
            some = events[start : start + _AT_ONCE]
            self.conversation.take(some)
            for event in some:
                self.session_status.take(event)
            self._changed()
            await anyio.lowlevel.checkpoint()

    async def _find_todo_list(self) -> None:
        """Search older pages for the current todo list of the agent."""
        for _ in range(_TODO_PAGES):
            if self.session_status.todos or self.session_status.plan or not self.session_status.is_at_work:
                return
            if not await self.load_older():
                return

    def _note_page(self, page: v1.ReadEventsResponse) -> None:
        self.conversation.has_older = page.has_more
        self.conversation.compacted_before = page.compacted_before

    def _linked(self, link: Link) -> None:
        self.link = link
        self._changed()
