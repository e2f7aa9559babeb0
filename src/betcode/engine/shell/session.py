"""A session in memory: accept messages, run its agent, handle answers."""

import logging
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial

import anyio

from betcode.domain.agents.capabilities import Capabilities
from betcode.domain.agents.commands import AnswerPermission, AnswerQuestions, Command, Interrupt, SendMessage
from betcode.domain.bounded_io import FilesystemTimeout
from betcode.domain.errors import (
    AgentUnavailable,
    SessionClosed,
    StorageDegraded,
)
from betcode.domain.ports import Provider
from betcode.domain.sessions.binding import SessionBinding
from betcode.domain.sessions.phase import Phase
from betcode.domain.sessions.status import SessionStatus
from betcode.domain.store.rows import (
    OPENS_TURN,
    GrantRow,
    InputKind,
    InputRow,
    PromptRow,
    SessionRow,
)
from betcode.domain.values.identifiers import Seq, SessionId, time_ordered_uuid
from betcode.engine.context import EngineContext
from betcode.engine.core import admission
from betcode.engine.core.decision import Decision, Effect
from betcode.engine.core.orphaned_prompts import still_open
from betcode.engine.core.state import Session, restored
from betcode.engine.core.status import WaitReason, for_api
from betcode.engine.core.view import DELETED, NO_STOP_REQUEST
from betcode.engine.fault_points import FaultPoint
from betcode.engine.follow.followers import Followers
from betcode.engine.operations import compact
from betcode.engine.operations.lifecycle.lifecycle import Lifecycle
from betcode.engine.permissions.project_guard import ProjectGuard
from betcode.engine.permissions.screening import Screening
from betcode.engine.shell import effects
from betcode.engine.shell.budget_gate import BudgetGate
from betcode.engine.shell.input_lock_service import InputLockService
from betcode.engine.shell.observe.turn_metrics import TurnMetrics
from betcode.engine.shell.restart_backoff import RestartBackoff
from betcode.engine.shell.run import AgentRun
from betcode.engine.shell.session_failure import SessionFailure
from betcode.engine.shell.session_tasks import SessionTasks
from betcode.engine.shell.views import agent_view, session_view
from betcode.engine.shell.writer import PreparedWrite, SessionWriter
from betcode.util.signal import ChangeSignal, ResettableEvent
from betcode.util.wall_clock import now_ns

logger = logging.getLogger(__name__)


class LiveSession:
    """The one place where a session changes. Every change holds `lock`, is committed, and is then announced."""

    def __init__(self, context: EngineContext, row: SessionRow, provider: Provider) -> None:
        self.context = context
        self.provider = provider
        self.writer = SessionWriter(
            context.store, row, counts=context.counts, traces=context.traces, watch=context.watch, growth=context.growth
        )
        self.writer.on_status = self.tell_phase
        self.lifecycle = Lifecycle()
        self.failure = SessionFailure(self)
        self.tasks = SessionTasks(context.tasks, self.session_id, context.faults, self.failure.report)
        self.input_lock = InputLockService(context, self.writer, self.tasks)
        self.followers = Followers(context, self.writer, self.input_lock, self.tasks)
        self.budget = BudgetGate(self)
        self.lock = anyio.Lock()
        self.run: AgentRun | None = None
        self.compaction: compact.Compaction | None = None
        self.compacts_itself = True  # until that has failed, or did not help
        self.directory = row.new.working_directory  # in which its newest agent was started, or the next one will be
        self.is_placed = not row.new.worktree_id  # else `directory` may be where its worktree was
        self.users = 0  # streams and calls that hold this object
        self.recovery = RestartBackoff(self)
        self.screening = Screening(self)
        self.project = ProjectGuard(self)
        self.may_start = False  # once it was given up, a person decides when it goes on
        self.stop_request = NO_STOP_REQUEST
        self.deliverable = ResettableEvent()
        self.changed = ChangeSignal()  # rung when something was taken in, or an agent came or went

    # ------------------------------------------------------------ what others see

    @property
    def inputs(self) -> Mapping[str, InputRow]:
        return self.writer.session.inputs

    @property
    def prompts(self) -> Mapping[str, PromptRow]:
        return self.writer.session.prompts

    @property
    def orphaned(self) -> Mapping[str, PromptRow]:
        return self.writer.session.orphaned

    @property
    def grants(self) -> tuple[GrantRow, ...]:
        return self.writer.session.grants

    @property
    def binding(self) -> SessionBinding:
        return self.writer.session.binding

    @property
    def session_id(self) -> SessionId:
        return self.writer.new.session_id

    @property
    def capabilities(self) -> Capabilities:
        return self.provider.capabilities_for(self.writer.new)

    @property
    def turns(self) -> TurnMetrics:
        return self.writer.turns

    @property
    def log_extra(self) -> dict[str, str]:
        return {"session_id": self.session_id}

    @property
    def at_rest(self) -> bool:
        """No turn is open, and none will begin by itself."""
        return self.writer.state.status is not SessionStatus.ACTIVE

    @property
    def disposable(self) -> bool:
        return (
            self.users == 0
            and self.run is None
            and not self.lock.locked()
            and self.at_rest
            and not self.budget.is_busy
            and not self.lifecycle.is_changing
            and not self.failure.is_pending
            and self.tasks.is_idle
        )

    @property
    def waiting(self) -> WaitReason:
        if self.prompts or self.budget.prompt is not None:
            return WaitReason("person")
        if self.recovery.waiting:
            return WaitReason("retry", self.recovery.due_ns)
        if self.context.slots.is_waiting(self):
            return WaitReason("slot")
        if self.at_rest and still_open(self.orphaned):
            return WaitReason("person")
        return for_api(self.writer.state, now_ns())

    @property
    def turn_open(self) -> bool:
        return self.run is not None and self.run.dialogue.view.turn_open

    @property
    def phase(self) -> Phase:
        return self.lifecycle.phase(self.writer.session)

    def tell_phase(self, words: str = "") -> None:
        """Say where the session stands, if that is news."""
        if (told := self.lifecycle.told(self.session_id, self.writer.session, words)) is not None:
            self.context.phases.tell(told)

    async def load(self) -> None:
        """Take up what was left open."""
        self.context.faults(FaultPoint.LOAD, self.session_id)
        store, key = self.context.store, self.writer.key
        bound = await store.bound(key)
        await self.writer.jump_after_epoch()
        self.writer.session = restored(
            self.writer.state,
            await store.newest_run(key),
            await store.open_inputs(key),
            [*(row for _, row in await store.open_prompts(key)), *await store.kept_prompts(key)],
            await store.grants(key),
            bound.binding,
        )
        self.lifecycle.take_up(bound, self.writer.session)
        await compact.restore_compaction(self)
        self.may_start = not self.at_rest
        if self.may_start:
            await self.recovery.load()
        if self.writer.state.status is SessionStatus.CLOSED:
            self.writer.tail.close()

    @property
    def has_messages(self) -> bool:
        return any(row.kind in OPENS_TURN for row in self.inputs.values())

    # ------------------------------------------------------------ deciding

    async def perform(self, decide: Callable[[Session], Decision], *, surely: bool = False) -> None:
        """Take the lock, then decide, commit, apply and act. See `perform_locked`.

        Raises: what `changing` raises, unless `surely`; and what `perform_locked` raises.
        """
        async with self.lock if surely else self.changing():
            await self.perform_locked(decide(self.writer.session), surely=surely)

    async def perform_locked(
        self, decision: Decision, *, surely: bool = False, reached: FaultPoint | None = None
    ) -> None:
        """Commit a decision, apply it to memory, and perform its effects in order. The caller holds the lock.

        `surely` is for what has already happened: it waits until the store can be written. `reached` is the fault
        point between the commit and the effects.

        Raises:
            StorageDegraded, StorageFailed: nothing was written and no effect performed. Never with `surely`.
        """
        write = self.writer.write_surely if surely else self.writer.write
        await write(decision.events, decision.changes, **decision.fields)
        if reached is not None:
            self.context.faults(reached, self.session_id)
        self.act(decision.effects)

    def act(self, decided: Iterable[Effect]) -> None:
        """Perform the effects of a decision that is committed."""
        for effect in decided:
            effects.act(self, effect)

    def prepare(self, decision: Decision) -> PreparedWrite:
        """What `perform_locked` would commit, for a caller that commits it together with other sessions."""
        return self.writer.prepare(decision.events, decision.changes, **decision.fields)

    def note_stop_request(self, client: str) -> None:
        """This client closes the session or cancels its turn."""
        self.stop_request = replace(self.stop_request, client=client)

    def note_deletion(self) -> None:
        """What the close ends, ends because the session is deleted."""
        self.stop_request = replace(self.stop_request, closed_reason=DELETED)

    def set_value(self, value: Session) -> None:
        """Replace the value without a commit, where the store has it so already or shall not have it."""
        self.writer.session = value

    # ------------------------------------------------------------ going on

    def slot_granted(self) -> None:
        self.go_on()

    def go_on(self) -> None:
        """Do what can be done now: ask for a slot, start an agent, wake the one who delivers. Never waits.

        Another session may be at work here: one that gave a slot back. It does not fail with this one.
        """
        try:
            self._advance()
        except Exception as error:  # noqa: BLE001 - whatever it is, it concerns this session alone
            self.failure.report(FaultPoint.ADVANCE, error)

    def _advance(self) -> None:
        self.changed.notify()
        if self.writer.state.status is SessionStatus.CLOSED or not self.may_start or not self.context.may_begin:
            return
        if self.recovery.waiting:
            return
        self.budget.look()
        slots = self.context.slots
        # In this order: a session with a slot may have a thousand open messages, and comes here for each of them.
        if not slots.has(self) and admission.needs_slot(session_view(self), agent_view(self)):
            first = admission.has_priority(self.inputs.values())
            slots.ask(self, first=first)  # comes back here when granted
        if self.run is None and self.inputs and slots.has(self):
            self.context.faults(FaultPoint.ADVANCE, self.session_id)
            self.run = AgentRun(self)
            self.tasks.start_soon(FaultPoint.RUN, self.run.begin)
        self.deliverable.set()

    def settle(self) -> None:
        """After something was taken in: keep, take or give back the slot as the agent works, waits or rests."""
        slots = self.context.slots
        change = admission.slot_change(session_view(self), agent_view(self), has_slot=slots.has(self))
        if change is admission.SlotChange.TAKE:
            slots.take(self)  # background work began a turn by itself
        elif change is admission.SlotChange.RELEASE:
            slots.give_back(self)  # or its place in line
        self.go_on()

    @property
    def is_closed(self) -> bool:
        return self.writer.state.status is SessionStatus.CLOSED

    def refuse_if_closed(self) -> None:
        if self.is_closed:
            raise SessionClosed(self.session_id)

    def refuse_if_degraded(self) -> None:
        """While nothing can be written nothing is accepted, and nobody waits for a lock to hear it."""
        if self.writer.degraded_reason:
            raise StorageDegraded(
                f"The database cannot be written ({self.writer.degraded_reason}): free disk space and retry",
                session_id=self.session_id,
                retry_after_ms="2000",
            )

    @asynccontextmanager
    async def changing(self, *, even_degraded: bool = False) -> AsyncIterator[None]:
        """The lock, for what somebody asks for; what has happened already takes it as it is, and may keep it for long.

        `even_degraded` is for what may make room: it is tried, and only not kept waiting behind what cannot be written.

        Raises:
            StorageDegraded: nothing can be written, or could not any more while others were before us.
            SessionFailed: an error has stopped the session, and its agent is being ended.
        """
        while True:
            self.failure.refuse_if_pending()
            self.context.refuse_before_adoption()
            if not even_degraded:
                self.refuse_if_degraded()
            with anyio.CancelScope() as waiting:
                self.writer.in_line.add(waiting)
                try:
                    await self.lock.acquire()
                finally:
                    self.writer.in_line.discard(waiting)
            if not waiting.cancelled_caught:
                break
            self.refuse_if_degraded()
        try:
            yield
        finally:
            self.lock.release()

    async def admit(self) -> None:
        """Raises PoolExhausted, AgentMemoryExhausted, AgentUnavailable where one more turn cannot be."""
        if self.run is None:
            await self.check_program()
            self.context.slots.admit(self)  # before any other agent is sent home for a turn that is refused
            await self.context.memory.make_room()
        self.context.slots.admit(self)

    async def check_program(self) -> None:
        """Raises AgentUnavailable where the agent cannot be started; the directories of PATH may not answer."""
        work = partial(self.provider.check, self.writer.new.environment or {})
        try:
            await self.context.file_io.run(f"the program of {self.provider.name}", work)
        except FilesystemTimeout as no_answer:
            raise AgentUnavailable(f"The agent's program cannot be examined: {no_answer}; check PATH") from None

    def _control(self, kind: InputKind, command: Command) -> InputRow:
        return InputRow(
            input_id=time_ordered_uuid(),
            session=self.writer.key,
            kind=kind,
            payload=self.provider.encode(command),
            created_ns=now_ns(),
        )

    def message_row(self, message: SendMessage, content: bytes, seq: Seq) -> InputRow:
        """A message to hand over; `content` tells the same one sent again, `seq` is its acknowledgement's."""
        row = self._control(InputKind.MESSAGE, message)
        return replace(row, input_id=message.message_id, content=content, seq=seq)

    def answer_row(self, command: AnswerPermission | AnswerQuestions) -> InputRow:
        """What a person decided, as something to hand over; `content` names the prompt."""
        return replace(self._control(InputKind.ANSWER, command), content=command.request_id.encode())

    def control_row(self, command: Command, about: str = "") -> InputRow:
        """A command of the engine's own, as something to hand over; `about` is the request that it answers."""
        return replace(self._control(InputKind.CONTROL, command), content=about.encode("utf-8", "replace"))

    def interrupt_row(self, *, cancel_queued: bool) -> InputRow:
        """What tells the agent to stop its turn."""
        return self._control(InputKind.INTERRUPT, Interrupt(time_ordered_uuid(), cancel_queued))
