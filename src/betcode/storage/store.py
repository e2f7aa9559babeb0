"""The store: one database file, one writer, two readers, one checkpoint thread, and a search index."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import anyio
import anyio.to_thread
import apsw

from betcode.domain.events.search_documents import SearchPage, SearchQuery
from betcode.domain.permissions.audit import AuditFilter, AuditHead, AuditRow, AuditVerification
from betcode.domain.ports import SessionFilter
from betcode.domain.sessions.binding import BindingRecord, DueSession, SessionBinding
from betcode.domain.sessions.deletion import DeletedSession
from betcode.domain.store.changes import AppendEvents, Change, SavePrompt
from betcode.domain.store.rows import (
    AskedUse,
    Batch,
    ForkedPart,
    GrantRow,
    InputRow,
    NewRun,
    NewSession,
    Page,
    PromptRow,
    RunRow,
    SessionRow,
    SessionState,
    StoredEvent,
)
from betcode.domain.values.identifiers import RunKey, Seq, SessionId, SessionKey
from betcode.storage.permissions import audit_log, prompt_queries
from betcode.storage.permissions.prompt_signal import PromptBell
from betcode.storage.records.report_rows import SqliteReports
from betcode.storage.records.worktree_rows import SqliteWorktrees
from betcode.storage.search import search_queries
from betcode.storage.search.indexer import Indexer
from betcode.storage.sessions import binding_queries, connections, fork_copy, read_queries, write_queries
from betcode.storage.sessions import session_deletion as deleting
from betcode.storage.sqlite import epochs, usage
from betcode.storage.sqlite.checkpoints import Checkpoints
from betcode.storage.sqlite.database import told
from betcode.storage.sqlite.worker_thread import WorkerThread
from betcode.storage.sqlite.writer import AGAIN, Again, Writer

logger = logging.getLogger(__name__)

T = TypeVar("T")

_SEARCH_WAITS_S = 0.5  # for the index, so that what was said a moment ago is found


class SqliteStore:
    """The durable log behind `betcode.domain.ports.Store`. Made by `open_store`."""

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
        self._begun = begun
        self.half_deleted = half_deleted
        self._checkpoints = checkpoints
        self.epoch = epoch.number
        self.epoch_reason = epoch.reason
        self._writer = writer
        self._readers = readers
        self._indexer = indexer
        self._searcher = searcher
        self._prompt_bell = PromptBell()
        self.worktrees = SqliteWorktrees(self._read, writer.write)
        self.reports = SqliteReports(self._read, writer.write)

    @property
    def has_begun(self) -> bool:
        """Whether the database could be written since it was opened; until then it is only read."""
        return self._begun.is_set()

    async def until_begun(self) -> None:
        """Return when the database can be written for the first time."""
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

    async def create_run(self, new: NewRun) -> RunRow:
        return await self._writer.write(lambda db: write_queries.create_run(db, new))

    async def commit(self, changes: Sequence[Change]) -> None:
        """All of it, on disk, or an error and none of it; a caller that is cancelled meanwhile learns it all the same.

        Raises:
            StorageDegraded: nothing can be written now (disk full, locked); try again later.
            StorageFailed: this very commit is refused and always will be.
        """
        try:
            await self._writer.write(lambda db: write_queries.apply(db, changes))
        finally:
            written = [change.row.request_id for change in changes if isinstance(change, SavePrompt)]
            if written:
                self._prompt_bell.ring(written)  # also where the caller was cancelled: it may be on disk
        self._indexer.note([change.session for change in changes if isinstance(change, AppendEvents)])

    async def writable(self) -> None:
        """Returns if something can be written now.

        Raises:
            StorageDegraded: nothing can.
        """
        await self._writer.write(write_queries.probe)

    async def find_session(self, session: SessionId) -> SessionRow | None:
        return await self._read(lambda db: read_queries.find_session(db, session))

    async def list_sessions(self, which: SessionFilter) -> tuple[Sequence[SessionRow], int]:
        """One page, the session with the newest change first, and the number of all matches."""
        return await self._read(lambda db: read_queries.list_sessions(db, which))

    async def read_events(self, session: SessionKey, after: Seq, limit_bytes: int) -> Batch | None:
        """What comes after `after`, at most `limit_bytes` but at least one event; None if there is nothing."""
        return await self._read(lambda db: read_queries.read_events(db, session, after, limit_bytes))

    async def read_before(
        self, session: SessionKey, before: Seq, not_before: Seq, limit_bytes: int, limit_events: int
    ) -> Page:
        """What comes just before `before`, not further back than `not_before`; at least one event, if any."""
        return await self._read(
            lambda db: read_queries.read_before(db, session, before, not_before, limit_bytes, limit_events)
        )

    async def live_runs(self) -> Sequence[tuple[SessionId, RunRow]]:
        return await self._read(read_queries.live_runs)

    async def sessions_of_runs(self, runs: Sequence[str]) -> Mapping[str, SessionId]:
        """The sessions of those runs that are known, by run."""
        return await self._read(lambda db: read_queries.sessions_of_runs(db, runs))

    async def newest_run(self, session: SessionKey) -> RunRow | None:
        return await self._read(lambda db: read_queries.newest_run(db, session))

    async def open_inputs(self, session: SessionKey) -> Sequence[InputRow]:
        """Inputs that are accepted or delivered but neither consumed nor given up, in order."""
        return await self._read(lambda db: read_queries.open_inputs(db, session))

    async def find_input(self, session: SessionKey, input_id: str) -> InputRow | None:
        return await self._read(lambda db: read_queries.find_input(db, session, input_id))

    @property
    def prompts_version(self) -> int:
        """Grows with every commit that changes a prompt."""
        return self._prompt_bell.version

    def prompts_since(self, version: int) -> Sequence[str] | None:
        """The ids of prompts that were written behind that version, each once; None: that is not known any more."""
        return self._prompt_bell.since(version)

    async def prompts_changed(self, since: int) -> None:
        """Return when the version is another."""
        await self._prompt_bell.changed(since)

    async def open_prompts(self, session: SessionKey | None) -> Sequence[tuple[SessionId, PromptRow]]:
        return await self._read(lambda db: prompt_queries.open_prompts(db, session))

    async def kept_prompts(self, session: SessionKey) -> Sequence[PromptRow]:
        """Those that a lost agent left to a turn that goes on, beside the open ones."""
        return await self._read(lambda db: prompt_queries.kept_prompts(db, session))

    async def answered_prompts(self, session: SessionKey, run: RunKey, after: Seq) -> Sequence[PromptRow]:
        """Those that one run asked after that event, and that were answered."""
        return await self._read(lambda db: prompt_queries.answered_prompts(db, session, run, after))

    async def asked_uses(self, session: SessionKey, since_ns: int) -> Sequence[AskedUse]:
        return await self._read(lambda db: prompt_queries.asked_uses(db, session, since_ns))

    async def events_of_kind(self, session: SessionKey, kind: int, after: Seq, until: Seq) -> Sequence[bytes]:
        return await self._read(lambda db: read_queries.events_of_kind(db, session, kind, after, until))

    async def find_prompt(self, request_id: str) -> tuple[SessionId, PromptRow] | None:
        return await self._read(lambda db: prompt_queries.find_prompt(db, request_id))

    async def prompts_beginning(self, text: str) -> Sequence[tuple[SessionId, PromptRow]]:
        return await self._read(lambda db: prompt_queries.prompts_beginning(db, text))

    async def answered_with(self, idempotency_key: str) -> str | None:
        return await self._read(lambda db: prompt_queries.answered_with(db, idempotency_key))

    async def grants(self, session: SessionKey) -> Sequence[GrantRow]:
        return await self._read(lambda db: prompt_queries.grants(db, session))

    async def peer_of_answer(self, session_id: SessionId, request_id: str) -> str:
        """The process that a person's answer to this prompt came from, as the audit has it; empty: not known."""
        return await self._read(lambda db: audit_log.peer_of_answer(db, session_id, request_id))

    async def audit_page(self, which: AuditFilter, after: int | None, limit: int) -> Sequence[AuditRow]:
        """Rows of the audit that are wanted behind number `after`, in order; None: from the first of them."""
        return await self._read(lambda db: audit_log.page(db, which, after, limit))

    async def check_audit(
        self, so_far: AuditVerification, limit: int, noted: AuditHead | None = None
    ) -> AuditVerification:
        """Compare up to `limit` more rows of the audit with their hashes."""
        return await self._read(lambda db: audit_log.check(db, so_far, limit, noted))

    async def blob_size(self, session: SessionKey, sha256: str) -> int | None:
        return await self._read(lambda db: read_queries.blob_size(db, session, sha256))

    async def read_blob(self, session: SessionKey, sha256: str, offset: int, limit: int) -> bytes:
        """At most `limit` bytes from `offset`; empty at the end, and where there is no such blob."""
        return await self._read(lambda db: read_queries.read_blob(db, session, sha256, offset, limit))

    async def newest_of_kind(self, session: SessionKey, kind: int, until: Seq) -> bytes | None:
        """The last event of that kind at `until` or before."""
        return await self._read(lambda db: read_queries.newest_of_kind(db, session, kind, until))

    async def first_of_kind(self, session: SessionKey, kind: int, after: Seq) -> bytes | None:
        return await self._read(lambda db: read_queries.first_of_kind(db, session, kind, after))

    async def fork_session(self, source: SessionKey, new: NewSession, state: SessionState, fork: ForkedPart) -> bool:
        """The whole of it or nothing, in slices between other commits; False where the source was deleted meanwhile."""
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
        """Hide the session from every reader. Files of its runs must go before `erase_session` forgets the runs."""

        def mark(db: apsw.Connection) -> DeletedSession:
            deleting.mark_deleted(db, session)
            return deleting.marked_sessions(db, session)[0]

        deleted = await self._writer.write(mark)
        self._prompt_bell.ring()
        self._indexer.note((session,))
        return deleted

    async def erase_session(self, session: SessionKey) -> None:
        """Erase a session that is marked as deleted; its bytes are in no file of the database when this returns.

        The rows go in slices behind other commits. The mark goes last, so a kill at any moment leaves it to be found.

        Raises:
            StorageDegraded, StorageFailed: something of it may still be there; the next daemon tries again.
        """
        await self._indexer.erase(session)
        await self._writer.write(_slices_of(session))
        await self._checkpoints.truncate()
        await self._writer.write(lambda db: deleting.delete_mark(db, session))
        await self._checkpoints.truncate()

    async def closed_before(self, before_ns: int, limit: int) -> Sequence[SessionId]:
        """Closed sessions without any change since that moment, the oldest first."""
        return await self._read(lambda db: read_queries.closed_before(db, before_ns, limit))

    async def bound(self, session: SessionKey) -> BindingRecord:
        return await self._read(lambda db: binding_queries.bound(db, session))

    async def all_bound(self) -> Mapping[SessionKey, BindingRecord]:
        return await self._read(binding_queries.all_bound)

    async def unfinished(self) -> Sequence[DueSession]:
        """The open sessions that have a timeout, or that are being stopped."""
        return await self._read(binding_queries.unfinished)

    async def used_bytes(self) -> int:
        """How much of the database file holds something."""
        return await self._read(lambda db: usage.used_and_free(db)[0])

    async def connections(self) -> tuple[int, int]:
        """How many clients are connected and how many input locks are held, as the rows say."""
        return await self._read(connections.counts)

    async def search(self, question: SearchQuery) -> SearchPage:
        """One page of what was said with these words; what was committed before is found, if the index kept up."""
        complete = await self._indexer.up_to_date(_SEARCH_WAITS_S)
        try:
            page = await self._searcher.call(lambda path: search_queries.find(path, question))
        except (apsw.CorruptError, apsw.NotADBError):
            logger.warning("the search index is damaged, and is made again")
            self._indexer.begin_again()
            return SearchPage(complete=False)
        except apsw.Error as error:
            raise told(error, "searched") from error
        return replace(page, complete=page.complete and complete)

    async def _read(self, question: Callable[[apsw.Connection], T]) -> T:
        reader = min(self._readers, key=lambda each: each.waiting)
        try:
            return await reader.call(question)
        except apsw.Error as error:
            logger.exception("the database could not be read")
            raise told(error, "read") from error


def _slices_of(session: SessionKey, *, with_mark: bool = False) -> Callable[[apsw.Connection], Again | None]:
    """A job that deletes one slice each time it runs, until only the mark is left, and then that if it is to go too."""

    def delete(db: apsw.Connection) -> Again | None:
        if deleting.delete_slice(db, session):
            return AGAIN
        if with_mark:
            deleting.delete_mark(db, session)
        return None

    return delete
