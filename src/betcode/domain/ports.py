"""The interfaces that the engine uses: a store, a provider, and the dialogue with one agent."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from betcode.domain.agents.agent_state import ApiPause, CallScreening, Failure, ToolCall
from betcode.domain.agents.capabilities import Capabilities
from betcode.domain.agents.commands import Command, Errand, RefuseRequest
from betcode.domain.agents.provider_about import ProviderAbout
from betcode.domain.events.search_documents import SearchPage, SearchQuery
from betcode.domain.permissions.audit import AuditFilter, AuditHead, AuditRow, AuditVerification
from betcode.domain.runs.journal_record import Record
from betcode.domain.runs.launch import Launch, LaunchContext
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
from betcode.v1.agent_pb2 import AgentEvent


@dataclass(frozen=True, slots=True)
class SessionFilter:
    working_directory: str = ""
    worktree_id: str = ""
    statuses: tuple[str, ...] = ()
    limit: int = 50
    offset: int = 0


class Store(BindingStore, SessionDeletion, StartupStore, Protocol):
    """The durable log and what belongs to it. Every method may be awaited from the event loop."""

    epoch: int  # grows when numbers may have been lost: after a power cut or a restored backup
    epoch_reason: str

    async def create_session(
        self, new: NewSession, state: SessionState, events: Sequence[StoredEvent], binding: SessionBinding | None = None
    ) -> SessionKey: ...
    async def create_run(self, new: NewRun) -> RunRow:
        """Add the row of a run that is being started, with its first dialogue state.

        A daemon that is killed before the next commit leaves a row from which the next run carries the conversation on.
        """
        ...

    async def commit(self, changes: Sequence[Change]) -> None:
        """Write all of it to disk, or raise an error and write none of it.

        Raises:
            StorageDegraded: nothing can be written now (disk full, locked); try again later.
            StorageFailed: this commit is refused and always will be.
        """
        ...

    async def find_session(self, session: SessionId) -> SessionRow | None: ...
    async def list_sessions(self, which: SessionFilter) -> tuple[Sequence[SessionRow], int]: ...
    async def read_events(self, session: SessionKey, after: Seq, limit_bytes: int) -> Batch | None:
        """Return events after `after`, at most `limit_bytes` but at least one event; None if there is none."""
        ...

    async def read_before(
        self, session: SessionKey, before: Seq, not_before: Seq, limit_bytes: int, limit_events: int
    ) -> Page:
        """Return events just before `before`, not further back than `not_before`; at least one event, if any."""
        ...

    async def live_runs(self) -> Sequence[tuple[SessionId, RunRow]]: ...
    async def newest_run(self, session: SessionKey) -> RunRow | None: ...
    async def open_inputs(self, session: SessionKey) -> Sequence[InputRow]:
        """Return inputs that are accepted or delivered but neither consumed nor abandoned, in order."""
        ...

    async def find_input(self, session: SessionKey, input_id: str) -> InputRow | None: ...
    @property
    def prompts_version(self) -> int:
        """Grows with every commit that changes a prompt."""
        ...

    def prompts_since(self, version: int) -> Sequence[str] | None:
        """Return the ids of prompts that were written after that version, each once; None: no longer known."""
        ...

    async def prompts_changed(self, since: int) -> None:
        """Return when the version is another."""
        ...

    async def open_prompts(self, session: SessionKey | None) -> Sequence[tuple[SessionId, PromptRow]]: ...
    async def kept_prompts(self, session: SessionKey) -> Sequence[PromptRow]:
        """Return the prompts that a lost agent left to a continuing turn, besides the open ones."""
        ...

    async def answered_prompts(self, session: SessionKey, run: RunKey, after: Seq) -> Sequence[PromptRow]:
        """Those that one run asked after that event, and that were answered."""
        ...

    async def asked_uses(self, session: SessionKey, since_ns: int) -> Sequence[AskedUse]:
        """Return what its agents asked for since then, in order; with any answer."""
        ...

    async def events_of_kind(self, session: SessionKey, kind: int, after: Seq, until: Seq) -> Sequence[bytes]:
        """Return the events of one kind after `after` and up to `until`, in order; for a narrow window."""
        ...

    async def find_prompt(self, request_id: str) -> tuple[SessionId, PromptRow] | None: ...
    async def prompts_beginning(self, text: str) -> Sequence[tuple[SessionId, PromptRow]]:
        """Return the prompts with this id prefix, open or not; at most a hundred."""
        ...

    async def answered_with(self, idempotency_key: str) -> str | None:
        """Return the id of the prompt whose answer was sent with this key."""
        ...

    async def grants(self, session: SessionKey) -> Sequence[GrantRow]: ...
    async def peer_of_answer(self, session_id: SessionId, request_id: str) -> str:
        """Return the process that sent a person's answer to this prompt, according to the audit; empty: unknown."""
        ...

    async def audit_page(self, which: AuditFilter, after: int | None, limit: int) -> Sequence[AuditRow]:
        """Return matching rows of the audit after number `after`, in order; None: from the first one."""
        ...

    async def check_audit(
        self, so_far: AuditVerification, limit: int, noted: AuditHead | None = None
    ) -> AuditVerification:
        """Compare up to `limit` more rows of the audit with their hashes."""
        ...

    async def blob_size(self, session: SessionKey, sha256: str) -> int | None: ...
    async def read_blob(self, session: SessionKey, sha256: str, offset: int, limit: int) -> bytes: ...
    async def newest_of_kind(self, session: SessionKey, kind: int, until: Seq) -> bytes | None:
        """The last event of that kind at `until` or before."""
        ...

    async def first_of_kind(self, session: SessionKey, kind: int, after: Seq) -> bytes | None: ...
    async def fork_session(self, source: SessionKey, new: NewSession, state: SessionState, fork: ForkedPart) -> bool:
        """Create a session with another's events up to `new.forked_at` and its own after them: completely, or not at
        all.

        Return False if the other was deleted meanwhile.
        """
        ...

    async def closed_before(self, before_ns: int, limit: int) -> Sequence[SessionId]:
        """Closed sessions without any change since that moment, the oldest first."""
        ...

    async def used_bytes(self) -> int:
        """Return how much of the database file is in use."""
        ...

    async def connections(self) -> tuple[int, int]:
        """Return how many clients are connected and how many input locks are held, according to the rows."""
        ...

    async def search(self, question: SearchQuery) -> SearchPage:
        """Return one page of search results."""
        ...


class Dialogue(Protocol):
    """Translates one run's records into events. No I/O, no clock; same records, same events."""

    def receive(self, record: Record) -> list[AgentEvent]:
        """Return the events of one record, with sequence 0 and the record's time."""
        ...

    def addressed(self, line: bytes) -> bytes:
        """Return a line of `Provider.encode` with the ids that this agent uses; another agent may have got it before.

        Changes nothing. Empty: the agent no longer waits for it.
        """
        ...

    def state(self) -> bytes:
        """Small and versioned; `Provider.dialogue` takes it back."""
        ...

    def may_ask(self, record: Record) -> bool:
        """Return whether the record may contain a tool call to be decided about; a quick test with false positives."""
        ...

    @property
    def is_ready(self) -> bool:
        """Return whether greetings are over, and a message can be sent."""
        ...

    @property
    def errands(self) -> tuple[Errand, ...]:
        """Return the lines that the dialogue itself sends, in order; each is removed when its record is read."""
        ...

    @property
    def turn_open(self) -> bool: ...
    @property
    def has_spoken(self) -> bool:
        """Return whether the agent has sent something by itself, not only answers to our commands."""
        ...

    @property
    def call_screening(self) -> CallScreening: ...

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """Return tool calls that wait to be screened; each is removed when its answer is read."""
        ...

    def directory_of(self, tool_use_id: str) -> str | None:
        """Return the directory of a tool call that the agent announced before it asks; None: it did not, or the call is
        over.
        """
        ...

    @property
    def answering(self) -> tuple[str, ...]:
        """The messages that the open turn has begun to answer; others may be queued in the agent."""
        ...

    @property
    def withdrawing(self) -> frozenset[str]:
        """Return the messages that the agent was asked to withdraw, and has not answered yet."""
        ...

    @property
    def holds(self) -> tuple[str, ...]:
        """Return what keeps the agent from being idle besides turns and prompts: background tasks, scheduled jobs."""
        ...

    @property
    def conversation_id(self) -> str: ...
    @property
    def conversation_began(self) -> bool: ...
    @property
    def open_requests(self) -> tuple[str, ...]:
        """The ids of prompts the agent waits for."""
        ...

    @property
    def refusals(self) -> tuple[RefuseRequest, ...]:
        """Return unsupported requests of the agent, to be refused; empty after the refusal was read."""
        ...

    @property
    def plan_mode(self) -> bool:
        """Return whether the agent only plans; a process that resumes must be set to it."""
        ...

    @property
    def chosen(self) -> Mapping[str, str]:
        """Return settings such as `model` that a person chose by an agent's command; a new process must get them."""
        ...

    @property
    def api_pause(self) -> ApiPause | None:
        """Return whether the model's API delays the agent, or has been refusing it for some time."""
        ...

    @property
    def failure(self) -> Failure | None:
        """Return the cause if an agent with this last output would fail repeatedly; None: try again."""
        ...

    def voided(self, now_ns: int) -> list[AgentEvent]:
        """Return events that retract partial text of a crashed agent, since the next one repeats it."""
        ...

    @property
    def running_tools(self) -> tuple[str, ...]:
        """The names of tools that may have begun and have not ended; one that waits for a person has not begun."""
        ...

    @property
    def last_errors(self) -> tuple[str, ...]:
        """The newest lines of the agent's stderr, a few and cut short."""
        ...


class Provider(Protocol):
    """A kind of agent."""

    name: str
    capabilities: Capabilities
    dialogue_version: int

    def check(self, environment: Mapping[str, str]) -> None:
        """Raises AgentUnavailable, with what to do, where the agent cannot be started in this environment at all."""
        ...

    def check_session(self, session: NewSession) -> None:
        """Raises InvalidRequest, with what to do, where a new session asks for what this kind of agent cannot be."""
        ...

    def capabilities_for(self, session: NewSession, /) -> Capabilities:
        """Return what the agent of this session can do: one kind may have several programs."""
        ...

    def about(self, environment: Mapping[str, str]) -> ProviderAbout:
        """Return what is known of it for sessions with this environment, without network and without running it."""
        ...

    def launch(self, session: NewSession, context: LaunchContext) -> Launch: ...

    def encode(self, command: Command, /) -> bytes:
        """Return one line for the agent's stdin, with its newline; its effect comes with the record.

        Data that only the dialogue with the running agent has, such as the number of a request, is added by
        `Dialogue.addressed`. Raises InvalidRequest if the provider's agents have no such command.
        """
        ...

    def dialogue(self, session: NewSession, conversation_id: str, state: bytes = b"", *, version: int = 0) -> Dialogue:
        """Return a new dialogue, or one restored from a stored state of that version."""
        ...

    def carry_over(self, state: bytes, version: int) -> bytes:
        """Return what a new run knows of the conversation from the last state of the previous run."""
        ...
