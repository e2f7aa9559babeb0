"""The interfaces of the store, one for each subject. A caller names the ports that it needs.

Every method may be awaited from the event loop.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from betcode.domain.events.search_documents import SearchPage, SearchQuery
from betcode.domain.permissions.audit import AuditFilter, AuditHead, AuditRow, AuditVerification
from betcode.domain.sessions.binding import BindingStore, SessionBinding
from betcode.domain.sessions.deletion import SessionDeletion
from betcode.domain.store.changes import Change
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
from betcode.domain.store.startup import StartupStore
from betcode.domain.values.identifiers import RunKey, Seq, SessionId, SessionKey


@dataclass(frozen=True, slots=True)
class SessionFilter:
    working_directory: str = ""
    worktree_id: str = ""
    statuses: tuple[str, ...] = ()
    limit: int = 50
    offset: int = 0


class CommitStore(Protocol):
    """Writes changes."""

    async def commit(self, changes: Sequence[Change]) -> None:
        """Write all changes to disk, or none; a caller that is cancelled meanwhile gets the result all the same.

        Raises:
            StorageDegraded: nothing can be written now (disk full, locked); try again later.
            StorageFailed: this commit is refused and always will be.
        """
        ...


class LogStore(CommitStore, Protocol):
    """Writes the log, which has an epoch."""

    epoch: int  # grows when numbers may have been lost: after a power cut or a restored backup
    epoch_reason: str


class EventStore(Protocol):
    """Reads the events of a session's log."""

    async def read_events(self, session: SessionKey, after: Seq, limit_bytes: int) -> Batch | None:
        """The events after `after`, at most `limit_bytes` but at least one event; None if there is none."""
        ...

    async def read_before(
        self, session: SessionKey, before: Seq, not_before: Seq, limit_bytes: int, limit_events: int
    ) -> Page:
        """The events just before `before`, not further back than `not_before`; at least one event, if any."""
        ...

    async def events_of_kind(self, session: SessionKey, kind: int, after: Seq, until: Seq) -> Sequence[bytes]:
        """The events of one kind after `after` and up to `until`, in order; for a short range."""
        ...

    async def newest_of_kind(self, session: SessionKey, kind: int, until: Seq) -> bytes | None:
        """The last event of that kind at `until` or before."""
        ...

    async def first_of_kind(self, session: SessionKey, kind: int, after: Seq) -> bytes | None: ...


class SessionStore(Protocol):
    """Creates, finds and lists sessions."""

    async def create_session(
        self, new: NewSession, state: SessionState, events: Sequence[StoredEvent], binding: SessionBinding | None = None
    ) -> SessionKey: ...
    async def fork_session(self, source: SessionKey, new: NewSession, state: SessionState, fork: ForkedPart) -> bool:
        """Create a session with another's events up to `new.forked_at` and its own after them: all of it, or nothing.

        False if the other was deleted meanwhile.
        """
        ...

    async def find_session(self, session: SessionId) -> SessionRow | None: ...
    async def list_sessions(self, which: SessionFilter) -> tuple[Sequence[SessionRow], int]:
        """One page, the session with the newest change first, and the number of all matches."""
        ...

    async def closed_before(self, before_ns: int, limit: int) -> Sequence[SessionId]:
        """Closed sessions without any change since that time, the oldest first."""
        ...


class RunStore(Protocol):
    """Runs and their inputs."""

    async def create_run(self, new: NewRun) -> RunRow:
        """Add the row of a run that is being started, with its first dialogue state.

        If the daemon is killed before the next commit, the next run continues the conversation from this row.
        """
        ...

    async def live_runs(self) -> Sequence[tuple[SessionId, RunRow]]: ...
    async def newest_run(self, session: SessionKey) -> RunRow | None: ...
    async def open_inputs(self, session: SessionKey) -> Sequence[InputRow]:
        """Inputs that are accepted or delivered but neither consumed nor given up, in order."""
        ...

    async def find_input(self, session: SessionKey, input_id: str) -> InputRow | None: ...


class PromptWatchStore(Protocol):
    """Open prompts, and a signal when prompts change."""

    @property
    def prompts_version(self) -> int:
        """Grows with every commit that changes a prompt."""
        ...

    def prompts_since(self, version: int) -> Sequence[str] | None:
        """The ids of prompts that were written after that version, each once; None if they are no longer known."""
        ...

    async def prompts_changed(self, since: int) -> None:
        """Return when the version is another."""
        ...

    async def open_prompts(self, session: SessionKey | None) -> Sequence[tuple[SessionId, PromptRow]]: ...
    async def find_prompt(self, request_id: str) -> tuple[SessionId, PromptRow] | None: ...


class PromptStore(PromptWatchStore, Protocol):
    """Prompts and grants."""

    async def kept_prompts(self, session: SessionKey) -> Sequence[PromptRow]:
        """The prompts of a lost agent whose turn continues, besides the open ones."""
        ...

    async def answered_prompts(self, session: SessionKey, run: RunKey, after: Seq) -> Sequence[PromptRow]:
        """The answered prompts that one run opened after that event."""
        ...

    async def asked_uses(self, session: SessionKey, since_ns: int) -> Sequence[AskedUse]:
        """The requests of its agents since then, in order, with any answer."""
        ...

    async def prompts_beginning(self, text: str) -> Sequence[tuple[SessionId, PromptRow]]:
        """The prompts whose id begins with this text, open or not; at most a hundred."""
        ...

    async def answered_with(self, idempotency_key: str) -> str | None:
        """The id of the prompt whose answer had this key."""
        ...

    async def grants(self, session: SessionKey) -> Sequence[GrantRow]: ...


class AuditStore(Protocol):
    """Reads and verifies the audit."""

    async def peer_of_answer(self, session_id: SessionId, request_id: str) -> str:
        """The process from which a person answered this prompt, according to the audit; empty if unknown."""
        ...

    async def audit_page(self, which: AuditFilter, after: int | None, limit: int) -> Sequence[AuditRow]:
        """Matching rows of the audit after number `after`, in order; None: from the first."""
        ...

    async def check_audit(
        self, so_far: AuditVerification, limit: int, noted: AuditHead | None = None
    ) -> AuditVerification:
        """Compare up to `limit` more rows of the audit with their hashes."""
        ...


class BlobStore(Protocol):
    """Reads the large values of a session."""

    async def blob_size(self, session: SessionKey, sha256: str) -> int | None: ...
    async def read_blob(self, session: SessionKey, sha256: str, offset: int, limit: int) -> bytes:
        """At most `limit` bytes from `offset`; empty at the end, and if there is no such blob."""
        ...


class UsageStore(Protocol):
    """Figures about the database."""

    async def used_bytes(self) -> int:
        """The part of the database file that is in use."""
        ...

    async def connections(self) -> tuple[int, int]:
        """The number of connected clients and of held input locks, according to the rows."""
        ...


class SearchStore(Protocol):
    async def search(self, question: SearchQuery) -> SearchPage:
        """One page of matches. Everything committed before is found, unless the index is behind."""
        ...


class Store(
    LogStore,
    EventStore,
    SessionStore,
    RunStore,
    PromptStore,
    AuditStore,
    BlobStore,
    UsageStore,
    SearchStore,
    BindingStore,
    SessionDeletion,
    StartupStore,
    Protocol,
):
    """The durable log and everything that belongs to it, for the engine's context."""
