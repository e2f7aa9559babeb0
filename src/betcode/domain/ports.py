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
        """All of it, on disk, or an error and none of it.

        Raises:
            StorageDegraded: nothing can be written now (disk full, locked); try again later.
            StorageFailed: this very commit is refused and always will be.
        """
        ...

    async def find_session(self, session: SessionId) -> SessionRow | None: ...
    async def list_sessions(self, which: SessionFilter) -> tuple[Sequence[SessionRow], int]: ...
    async def read_events(self, session: SessionKey, after: Seq, limit_bytes: int) -> Batch | None:
        """What comes after `after`, at most `limit_bytes` but at least one event; None if there is nothing."""
        ...

    async def read_before(
        self, session: SessionKey, before: Seq, not_before: Seq, limit_bytes: int, limit_events: int
    ) -> Page:
        """What comes just before `before`, not further back than `not_before`; at least one event, if any."""
        ...

    async def live_runs(self) -> Sequence[tuple[SessionId, RunRow]]: ...
    async def newest_run(self, session: SessionKey) -> RunRow | None: ...
    async def open_inputs(self, session: SessionKey) -> Sequence[InputRow]:
        """Inputs that are accepted or delivered but neither consumed nor given up, in order."""
        ...

    async def find_input(self, session: SessionKey, input_id: str) -> InputRow | None: ...
    @property
    def prompts_version(self) -> int:
        """Grows with every commit that changes a prompt."""
        ...

    def prompts_since(self, version: int) -> Sequence[str] | None:
        """The ids of prompts that were written behind that version, each once; None: that is not known any more."""
        ...

    async def prompts_changed(self, since: int) -> None:
        """Return when the version is another."""
        ...

    async def open_prompts(self, session: SessionKey | None) -> Sequence[tuple[SessionId, PromptRow]]: ...
    async def kept_prompts(self, session: SessionKey) -> Sequence[PromptRow]:
        """Those that a lost agent left to a turn that goes on, beside the open ones."""
        ...

    async def answered_prompts(self, session: SessionKey, run: RunKey, after: Seq) -> Sequence[PromptRow]:
        """Those that one run asked after that event, and that were answered."""
        ...

    async def asked_uses(self, session: SessionKey, since_ns: int) -> Sequence[AskedUse]:
        """What its agents asked for since then, in order; however it was answered."""
        ...

    async def events_of_kind(self, session: SessionKey, kind: int, after: Seq, until: Seq) -> Sequence[bytes]:
        """The events of one kind behind `after` and not behind `until`, in order; for a window that is not wide."""
        ...

    async def find_prompt(self, request_id: str) -> tuple[SessionId, PromptRow] | None: ...
    async def prompts_beginning(self, text: str) -> Sequence[tuple[SessionId, PromptRow]]:
        """The prompts whose id begins so, open or not; at most a hundred."""
        ...

    async def answered_with(self, idempotency_key: str) -> str | None:
        """The id of the prompt whose answer came with this key."""
        ...

    async def grants(self, session: SessionKey) -> Sequence[GrantRow]: ...
    async def peer_of_answer(self, session_id: SessionId, request_id: str) -> str:
        """The process that a person's answer to this prompt came from, as the audit has it; empty: not known."""
        ...

    async def audit_page(self, which: AuditFilter, after: int | None, limit: int) -> Sequence[AuditRow]:
        """Rows of the audit that are wanted behind number `after`, in order; None: from the first of them."""
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
        """A session with another's events to `new.forked_at` and its own behind them: the whole of it, or nothing.

        False where the other was deleted meanwhile.
        """
        ...

    async def closed_before(self, before_ns: int, limit: int) -> Sequence[SessionId]:
        """Closed sessions without any change since that moment, the oldest first."""
        ...

    async def used_bytes(self) -> int:
        """How much of the database file holds something."""
        ...

    async def connections(self) -> tuple[int, int]:
        """How many clients are connected and how many input locks are held, as the rows say."""
        ...

    async def search(self, question: SearchQuery) -> SearchPage:
        """One page of what was said with these words."""
        ...


class Dialogue(Protocol):
    """Translates one run's records into events. No I/O, no clock; same records, same events."""

    def receive(self, record: Record) -> list[AgentEvent]:
        """The events of one record, sequence left 0, the record's time on each."""
        ...

    def send(self, command: Command) -> bytes:
        """One line for the agent's stdin, newline included. Changes nothing: its effect comes with the record.

        Any dialogue of the session may be asked, at any time: what only the one knows that the agent talks to now, such
        as the number of a request, is filled in by `addressed`.
        """
        ...

    def addressed(self, line: bytes) -> bytes:
        """What `send` made, as it is said to this agent at this moment; also where another one was told it before.

        Changes nothing. Empty: there is nobody to say it to any more.
        """
        ...

    def state(self) -> bytes:
        """Small and versioned; `Provider.dialogue` takes it back."""
        ...

    def may_ask(self, record: Record) -> bool:
        """Whether the record may hold a use of a tool to be decided about; a quick look, which may err to yes."""
        ...

    @property
    def is_ready(self) -> bool:
        """Greetings are over, and a message can be given."""
        ...

    @property
    def errands(self) -> tuple[Errand, ...]:
        """What the dialogue itself wants said, in order; each is gone once it came by."""
        ...

    @property
    def turn_open(self) -> bool: ...
    @property
    def has_spoken(self) -> bool:
        """The agent has said something by itself, and not only answered a command of ours."""
        ...

    @property
    def call_screening(self) -> CallScreening: ...

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """Uses of tools that wait to be screened; each is gone once its answer came by."""
        ...

    def directory_of(self, tool_use_id: str) -> str | None:
        """Where a tool is used that the agent showed before it asks; None: it did not, or the use is over."""
        ...

    @property
    def answering(self) -> tuple[str, ...]:
        """The messages that the open turn has begun to answer; others may be queued in the agent."""
        ...

    @property
    def withdrawing(self) -> frozenset[str]:
        """The messages that the agent was told to let go of, and has not said yet whether it did."""
        ...

    @property
    def holds(self) -> tuple[str, ...]:
        """What keeps the agent from being idle beside turns and prompts: background tasks, scheduled jobs."""
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
        """Requests of the agent that nobody here can answer, to be refused; empty after the refusal came by."""
        ...

    @property
    def plan_mode(self) -> bool:
        """Whether the agent only plans; a process that resumes has to be told."""
        ...

    @property
    def chosen(self) -> Mapping[str, str]:
        """Settings such as `model` that a person chose by a command of the agent; a new process has to be told."""
        ...

    @property
    def api_pause(self) -> ApiPause | None:
        """Whether the model's API keeps the agent waiting, or has refused it for some time."""
        ...

    @property
    def failure(self) -> Failure | None:
        """What is wrong where an agent with these last words would fail again and again; None: try again."""
        ...

    def voided(self, now_ns: int) -> list[AgentEvent]:
        """What takes back words that a crashed agent was in the middle of, since the next one says them anew."""
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
        """What the agent of this session can do: one kind may have several programs."""
        ...

    def about(self, environment: Mapping[str, str]) -> ProviderAbout:
        """What is known of it where sessions have this environment, without any network and without running it."""
        ...

    def launch(self, session: NewSession, context: LaunchContext) -> Launch: ...

    def dialogue(self, session: NewSession, conversation_id: str, state: bytes = b"", *, version: int = 0) -> Dialogue:
        """A fresh dialogue, or one that goes on from a stored state of that version."""
        ...

    def carry_over(self, state: bytes, version: int) -> bytes:
        """What a new run knows of the conversation from the last state of the run before it."""
        ...
