"""The store: one database file, one writer, two readers, one checkpoint thread, and a search index."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import anyio
import anyio.to_thread
import apsw

from betcode.domain.events.search_documents import SearchPage, SearchQuery
from betcode.domain.sessions.binding import SessionBinding
from betcode.domain.sessions.deletion import DeletedSession
from betcode.domain.store.changes import AppendEvents, Change, SavePrompt
from betcode.domain.store.rows import (
    ForkedPart,
    NewSession,
    SessionState,
    StoredEvent,
)
from betcode.domain.values.identifiers import SessionKey
from betcode.storage.permissions.prompt_store import SqlitePrompts
from betcode.storage.records.report_rows import SqliteReports
from betcode.storage.records.worktree_rows import SqliteWorktrees
from betcode.storage.search import search_queries
from betcode.storage.search.indexer import Indexer
from betcode.storage.sessions import fork_copy, write_queries
from betcode.storage.sessions import session_deletion as deleting
from betcode.storage.sessions.session_store import SqliteSessions
from betcode.storage.sqlite import epochs
from betcode.storage.sqlite.access import DatabaseAccess
from betcode.storage.sqlite.checkpoints import Checkpoints
from betcode.storage.sqlite.database import storage_error
from betcode.storage.sqlite.worker_thread import WorkerThread
from betcode.storage.sqlite.writer import AGAIN, Again, Writer

logger = logging.getLogger(__name__)

_SEARCH_WAITS_S = 0.5  # for the index, so that the newest events are found


class SqliteStore(SqliteSessions, SqlitePrompts):
    """The durable log behind `betcode.domain.store.store_ports.Store`. Created by `open_store`."""

    def __init__(
        self,
        epoch: epochs.Epoch,
        writer: Writer,
        readers: Sequence[WorkerThread[apsw.Connection]],
        indexer: Indexer,
        searcher: WorkerThread[Path],
        checkpoints: Checkpoints,
        half_deleted: Sequence[DeletedSession],
        begun: anyio.Event,
    ) -> None:
        super().__init__(DatabaseAccess(readers, writer))
        self._begun = begun
        self.half_deleted = half_deleted
        self._checkpoints = checkpoints
        self.epoch = epoch.number
        self.epoch_reason = epoch.reason
        self._writer = writer
        self._indexer = indexer
        self._searcher = searcher
        self.worktrees = SqliteWorktrees(self._database)
        self.reports = SqliteReports(self._database)

    @property
    def has_begun(self) -> bool:
        return self._begun.is_set()

    async def until_begun(self) -> None:
        await self._begun.wait()

    def take_epoch(self, epoch: epochs.Epoch) -> None:
        """The opening is complete."""
        self.epoch, self.epoch_reason = epoch.number, epoch.reason
        self._begun.set()

    async def create_session(
        self, new: NewSession, state: SessionState, events: Sequence[StoredEvent], binding: SessionBinding | None = None
    ) -> SessionKey:
        session = await self._writer.write(lambda db: write_queries.create_session(db, new, state, events, binding))
        self._indexer.note((session,))
        return session

    async def commit(self, changes: Sequence[Change]) -> None:
        try:
            await self._writer.write(lambda db: write_queries.apply(db, changes))
        finally:
            written = [change.row.request_id for change in changes if isinstance(change, SavePrompt)]
            if written:
                self._prompt_signal.notify(written)  # also if the caller was cancelled: it may be on disk
        self._indexer.note([change.session for change in changes if isinstance(change, AppendEvents)])

    async def fork_session(self, source: SessionKey, new: NewSession, state: SessionState, fork: ForkedPart) -> bool:
        # In slices between other commits; a failed copy is deleted the same way.
        until = new.forked_at
        key = await self._writer.write(lambda db: fork_copy.begin(db, new, state))
        made = False
        try:
            await self._writer.write(lambda db: AGAIN if fork_copy.copy_slice(db, source, key, until) else None)
            made = await self._writer.write(lambda db: fork_copy.reveal(db, source, key, until, fork))
        finally:
            if not made:
                self._writer.write_later(_slices_of(key, with_mark=True))
        self._indexer.note((key,))
        return made

    async def mark_deleted(self, session: SessionKey) -> DeletedSession:
        def mark(db: apsw.Connection) -> DeletedSession:
            deleting.mark_deleted(db, session)
            return deleting.marked_sessions(db, session)[0]

        deleted = await self._writer.write(mark)
        self._prompt_signal.notify()
        self._indexer.note((session,))
        return deleted

    async def erase_session(self, session: SessionKey) -> None:
        # In slices between other commits. The mark is deleted last: the next daemon finds an unfinished deletion by it.
        await self._indexer.erase(session)
        await self._writer.write(_slices_of(session))
        await self._checkpoints.truncate()
        await self._writer.write(lambda db: deleting.delete_mark(db, session))
        await self._checkpoints.truncate()

    async def search(self, question: SearchQuery) -> SearchPage:
        complete = await self._indexer.up_to_date(_SEARCH_WAITS_S)
        try:
            page = await self._searcher.call(lambda path: search_queries.find(path, question))
        except (apsw.CorruptError, apsw.NotADBError):
            logger.warning("the search index is damaged and is rebuilt")
            self._indexer.begin_again()
            return SearchPage(complete=False)
        except apsw.Error as error:
            raise storage_error(error, "searched") from error
        return replace(page, complete=page.complete and complete)


def _slices_of(session: SessionKey, *, with_mark: bool = False) -> Callable[[apsw.Connection], Again | None]:
    """A job that deletes one slice each time it runs, until only the mark remains; then that too, if `with_mark`."""

    def delete(db: apsw.Connection) -> Again | None:
        if deleting.delete_slice(db, session):
            return AGAIN
        if with_mark:
            deleting.delete_mark(db, session)
        return None

    return delete
