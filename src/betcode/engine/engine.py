"""The engine's public interface: all sessions of one daemon, opened on use and released when idle."""

import logging
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import replace

from betcode.config.settings import EngineSettings
from betcode.domain.agents.commands import SendMessage
from betcode.domain.errors import (
    SessionNotFound,
    StorageDegraded,
    StorageFailed,
)
from betcode.domain.events.search_documents import SearchPage, SearchQuery
from betcode.domain.permissions.prompt_lifetime import ExtendOn
from betcode.domain.runs.unusable import UnusableRun
from betcode.domain.sessions.binding import SessionBinding
from betcode.domain.sessions.budget import Budget
from betcode.domain.sessions.status import SessionStatus
from betcode.domain.store.rows import NewSession, PromptRow, SessionRow, SessionState
from betcode.domain.store.store_ports import SessionFilter
from betcode.domain.values.identifiers import NotAnIdentifier, Seq, SessionId, parse_session_id
from betcode.engine.agents.agent_reports import AgentReport
from betcode.engine.agents.mcp_reports import ReportedServer, reported_servers
from betcode.engine.agents.provider_status import ProviderStatus
from betcode.engine.client_name import ClientName
from betcode.engine.context import NOT_WRITABLE_YET
from betcode.engine.core.compaction import CompactionResult
from betcode.engine.core.decision import Decision
from betcode.engine.core.state import NO_RUN
from betcode.engine.core.status import WaitReason, for_api
from betcode.engine.follow.pending_watch import PendingChanges, watch_pending
from betcode.engine.follow.session_reader import SessionReader
from betcode.engine.maintenance.adoption import AdoptionReport, adopt_runs
from betcode.engine.maintenance.prompt_times import extend_prompts
from betcode.engine.maintenance.shutdown import AgentShutdownPolicy, ShutdownReport, end_all
from betcode.engine.operations.answer import AnswerService
from betcode.engine.operations.audit import AuditService
from betcode.engine.operations.cancel import CancelResult, cancel_turn
from betcode.engine.operations.close import close
from betcode.engine.operations.compact import compact
from betcode.engine.operations.create import create
from betcode.engine.operations.delete import continue_deletions, delete
from betcode.engine.operations.fork import ForkResult, fork
from betcode.engine.operations.grants import GrantService
from betcode.engine.operations.lifecycle.service import LifecycleService
from betcode.engine.operations.lifecycle.timeouts import finish_stops
from betcode.engine.operations.submit import submit
from betcode.engine.operations.withdraw import WithdrawResult, withdraw_message
from betcode.engine.permissions.policy import Policy
from betcode.engine.registry import Registry
from betcode.engine.results import AcceptedMessage, EngineFacts, Summary
from betcode.engine.validation import check_budget, check_message, check_name
from betcode.util.wall_clock import now_ns

logger = logging.getLogger(__name__)


class Engine:
    """The engine's front door."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._context = registry.context
        self._found = AdoptionReport()
        self.watching = SessionReader(registry)
        self.policy = Policy(registry.context)
        self.answers = AnswerService(registry)
        self.grants = GrantService(registry)
        self.kinds = ProviderStatus(registry.context)
        self.audit = AuditService(registry.context)
        self.lifecycle = LifecycleService(registry)
        self.file_io = registry.context.file_io
        self.processes = registry.context.processes
        self.place_with = registry.context.place_with
        self.sends_idle_home = True  # when the block is left

    # ------------------------------------------------------------ sessions

    async def create(
        self,
        new: NewSession,
        *,
        in_active_worktree: bool = False,
        name: str = "",
        binding: SessionBinding | None = None,
    ) -> SessionId:
        """A session with its first event; nothing is started. The same again makes no second one.

        Raises:
            InvalidRequest, WorktreeNotFound, WorktreeUnusable: it could not work, or another session has the id.
        """
        return await create(self._context, new, in_active_worktree=in_active_worktree, name=name, binding=binding)

    async def resolve(self, text: str) -> SessionId:
        """The session of that id, in either spelling.

        Raises:
            SessionNotFound: there is none.
        """
        try:
            session = parse_session_id(text)
        except NotAnIdentifier:
            raise SessionNotFound(text[:100]) from None
        await self._registry.row(session)
        return session

    async def row(self, session: SessionId) -> SessionRow:
        """Raises SessionNotFound."""
        return await self._registry.row(session)

    async def summaries(self, which: SessionFilter) -> tuple[list[Summary], int]:
        rows, total = await self._context.store.list_sessions(which)
        return [self._summary(row) for row in rows], total

    async def summary(self, session: SessionId) -> Summary:
        """Raises SessionNotFound."""
        return self._summary(await self._registry.row(session))

    async def rename(self, session: SessionId, name: str) -> None:
        """Give it a name for people; an empty one takes the name away.

        Raises:
            InvalidRequest, SessionNotFound, StorageDegraded
        """
        check_name(name)
        async with self._registry.using(session) as live:
            try:
                await live.perform(lambda _: Decision(fields={"name": name}))
            except StorageFailed:
                await self._registry.row(session)  # it was deleted meanwhile
                raise

    async def fork(self, session: SessionId, at: Seq, name: str) -> ForkResult:
        """A new session that goes on from a turn of this one.

        Raises:
            SessionNotFound, SequenceOutOfRange, InvalidRequest, AgentUnavailable, ForkRefused
        """
        return await fork(self._registry, session, at, name)

    async def set_budget(self, session: SessionId, budget: Budget) -> SessionState:
        """Other limits from now on; what the session is afterwards.

        Raises:
            InvalidRequest, SessionNotFound, SessionClosed, StorageDegraded
        """
        check_budget(budget)
        async with self._registry.using(session) as live:
            async with live.changing():
                live.refuse_if_closed()
                await live.budget.change(budget)
            return live.writer.state

    async def search(self, question: SearchQuery) -> SearchPage:
        """One page of what was said with these words, in one session or in all."""
        return await self._context.store.search(question)

    async def close(self, session: SessionId, client: str = "") -> bool:
        """End it for good; False where it was closed before. Its history stays.

        Raises:
            SessionNotFound, StorageDegraded
        """
        async with self._registry.using(session) as live:
            live.note_stop_request(client)
            return await close(live)

    async def delete(self, session: SessionId, client: str = "") -> bool:
        """Close it and erase everything that this daemon stored of it, whatever state it is in.

        Raises:
            SessionNotFound
            AgentUnavailable: its agent could not be ended, and still needs its rows.
            StorageDegraded: nobody sees it any more, but some of its data could not be erased yet.
        """
        await delete(self._registry, session, client)
        return True

    # ------------------------------------------------------------ talking

    def check_message(self, message: SendMessage) -> None:
        """Raises InvalidRequest where no session would take it."""
        check_message(message, self._registry.context.settings)

    async def submit(
        self, session: SessionId, message: SendMessage, client: ClientName, *, only_if_running: bool = False
    ) -> AcceptedMessage:
        """Accept a message; the same id again is the same message. `only_if_running`: not while a turn is open.

        Raises:
            InvalidRequest, SessionNotFound, SessionClosed, SessionNotReady, SessionTimedOut,
            NoInputLock, PoolExhausted, AgentMemoryExhausted,
            AgentUnavailable, StorageDegraded: and nothing was accepted.
        """
        async with self._registry.using(session) as live:
            with live.input_lock.here(client):
                accepted = await submit(live, message, client, only_if_running=only_if_running)
            extend_prompts(live, ExtendOn.HUMAN)
            return accepted

    async def request_lock(self, session: SessionId, client: ClientName) -> tuple[bool, str]:
        """Whether the client may type now, and who gave the input lock up; waits while its holder may answer.

        Raises:
            SessionNotFound, SessionClosed
        """
        async with self._registry.using(session) as live:
            live.refuse_if_closed()
            return await live.input_lock.request(client)

    async def answer_lock_request(self, session: SessionId, client: ClientName, asking: str, *, grant: bool) -> None:
        """Give the input lock to a client that waits for it, or refuse.

        Raises:
            SessionNotFound, NoInputLock, InvalidRequest
        """
        async with self._registry.using(session) as live:
            live.input_lock.answer(client, asking, grant=grant)

    async def cancel_turn(self, session: SessionId, *, cancel_queued: bool = False, client: str = "") -> CancelResult:
        """Have the open turn stopped, with more force when asked again."""
        async with self._registry.using(session) as live:
            live.note_stop_request(client)
            return await cancel_turn(live, cancel_queued=cancel_queued)

    async def withdraw(self, session: SessionId, message_id: str, client: str = "") -> WithdrawResult:
        """Take one message back, unless an agent has begun to answer it.

        Raises:
            InvalidRequest, SessionNotFound, MessageNotFound, StorageDegraded
        """
        async with self._registry.using(session) as live:
            live.note_stop_request(client)
            return await withdraw_message(live, message_id)

    async def compact(self, session: SessionId, request_id: str = "") -> CompactionResult:
        """Have the agent compact its context; returns when that is done, and goes on without the caller.

        Raises:
            InvalidRequest, SessionNotFound, SessionClosed, SessionActive, CompactionUnsupported, CompactionFailed,
            PoolExhausted, AgentMemoryExhausted, AgentUnavailable, StorageDegraded
        """
        async with self._registry.using(session) as live:
            return await compact(live, request_id)

    async def pending(self, session: SessionId | None) -> list[tuple[SessionId, PromptRow]]:
        """The prompts that wait for a person."""
        key = None if session is None else (await self._registry.row(session)).key
        return list(await self._context.store.open_prompts(key))

    async def watch_pending(self, session: SessionId | None) -> AsyncGenerator[PendingChanges, None]:
        """What waits for a person, and then what changes about it. Hold it in `aclosing`."""
        key = None if session is None else (await self._registry.row(session)).key
        async with aclosing(watch_pending(self._context.store, key)) as looks:
            async for look in looks:
                yield look

    async def mcp_servers(self, session: SessionId | None) -> list[ReportedServer]:
        """The MCP servers that agents have, of one session or of all that are open, as they last said.

        Raises:
            SessionNotFound
        """
        return await reported_servers(self._context, None if session is None else await self._registry.row(session))

    def agent_is_gone(self, session: SessionId, prompt: PromptRow) -> bool:
        """Whether an answer to this open prompt is kept for the next agent, since nobody waits for it now."""
        live = self._registry.live.get(session)
        run = None if live is None or live.run is None else live.run.row.key
        return prompt.run not in (NO_RUN, run)

    # ------------------------------------------------------------ the daemon

    async def measure(self) -> None:
        """Have `facts` give the memory that agents use now."""
        await self._context.memory.measure()

    def facts(self) -> EngineFacts:
        context = self._context
        return EngineFacts(
            turns_at_work=context.slots.at_work,
            turn_limit=context.slots.limit,
            queue_limit=context.slots.queue_limit,
            waiting_in_line=context.slots.waiting,
            live_agents=len(tuple(context.memory.live)),
            agent_memory_bytes=context.memory.used_bytes,
            degraded_reason=self.degraded_reason(),
            database_warning=self._context.database.warning,
            found_at_start=self._found,
            memory_limit_bytes=context.settings.memory_limit_bytes,
        )

    async def unusable_runs(self) -> list[UnusableRun]:
        """The runs that cannot be used, as far as that can be read now."""
        try:
            return await self._context.run_problems.all(self._context.runs_dir, self._context.store)
        except (StorageDegraded, StorageFailed) as trouble:
            logger.warning("the directory of runs is not reported: %s", trouble)
            return []

    @property
    def active_sessions(self) -> int:
        """Sessions with a turn open; every one of them is open here."""
        live = self._registry.live.values()
        return sum(each.writer.state.status is SessionStatus.ACTIVE for each in live)

    async def reported(self) -> AgentReport:
        """What agents said they have."""
        return await self._context.reports.all()

    async def login_environment(self) -> Mapping[str, str]:
        """The environment of the user's login shell."""
        return await self._context.login_shell.environment()

    def degraded_reason(self) -> str:
        """Why sessions cannot write at the moment; empty where they can."""
        if not self._context.adopted.is_set():
            return NOT_WRITABLE_YET
        reasons = (live.writer.degraded_reason for live in self._registry.live.values())
        return next((reason for reason in reasons if reason), "")

    def use(self, settings: EngineSettings) -> None:
        """Go on with other settings; what was begun under the old ones is finished under them."""
        context = self._context
        context.settings = settings
        context.memory.limit_bytes = settings.agent_memory_limit_bytes
        context.slots.resize(settings.turn_limit, settings.queue_limit)
        context.deadlines.note(0)  # reminders may be due sooner

    async def part(self, agents: AgentShutdownPolicy) -> ShutdownReport:
        """Before the daemon stops: deal with its agents, as far as that is not done when the block is left."""
        if agents is AgentShutdownPolicy.ALL_END:
            return await end_all(self._context)
        self.sends_idle_home = agents is AgentShutdownPolicy.IDLE_END
        live = tuple(self._context.memory.live)
        ending = sum(agent.idle_since is not None for agent in live) if self.sends_idle_home else 0
        return ShutdownReport(ending, len(live) - ending)

    # ------------------------------------------------------------ inside

    async def start(self) -> None:
        """Take up what an earlier daemon left: agents at work, and messages that were accepted but not delivered."""
        continue_deletions(self._context)
        self._found = await adopt_runs(self._context, self._registry.open)
        await finish_stops(self._registry)

    def _summary(self, row: SessionRow) -> Summary:
        live = self._registry.live.get(row.new.session_id)
        if live is None:
            waiting = WaitReason("person") if row.pending_prompts else for_api(row.state, now_ns())
            return Summary(row, waiting=waiting)
        row = replace(row, state=live.writer.state, failure=live.failure.reason)
        holds = live.run.dialogue.view.holds if live.run is not None else ()
        return Summary(row, holds, live.waiting, live.input_lock.holder, live.followers.present_clients())
