"""One agent process as the daemon sees it: start or adopt it, read it, send to it, and record its end.

The process belongs to its holder. When the daemon stops, the agent keeps running.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import anyio.lowlevel
import anyio.to_thread

from betcode.domain.ports import Dialogue
from betcode.domain.runs.journal_record import Record, RecordKind
from betcode.domain.runs.state import CancelStep, RunState, RunStimulus, advance
from betcode.domain.sessions.status import SessionStatus
from betcode.domain.store.changes import SaveRun
from betcode.domain.store.rows import RunRow
from betcode.domain.values.identifiers import RunKey, new_run_id
from betcode.engine.core.decision import Decision, StateFields
from betcode.engine.core.ingest import RecordIngest
from betcode.engine.core.status import pause_fields, status_after
from betcode.engine.core.view import RunFlags
from betcode.engine.fault_points import FaultPoint
from betcode.engine.maintenance.prompt_times import assign_expiry, record_opened
from betcode.engine.operations import compact
from betcode.engine.permissions.tool_calls import ToolCallScreener
from betcode.engine.shell import compaction_triggers
from betcode.engine.shell.auto_responses import AutoResponses, hand_over
from betcode.engine.shell.cancel_escalation import CancelEscalation
from betcode.engine.shell.delivery import deliver
from betcode.engine.shell.exit_record import record_exit
from betcode.engine.shell.hang_watchdog import HangWatchdog
from betcode.engine.shell.holder_client import (
    END_GRACE_S,
    Attachment,
    HolderGone,
    attach,
    give_up,
    is_shortage,
    see_off,
)
from betcode.engine.shell.observe.record_logging import log_records
from betcode.engine.shell.spawn import start
from betcode.engine.shell.translation import PromptReviewer, translate
from betcode.holder.journal_reader import JournalReader
from betcode.holder.launch import bar, end_leftovers
from betcode.telemetry.log_context import Span
from betcode.util.wall_clock import now_ns as clock_ns

if TYPE_CHECKING:
    from betcode.engine.shell.session import LiveSession

logger = logging.getLogger(__name__)

READ_BYTES = 512 * 1024
RETIRE_GRACE_S = 10.0
REATTACH_AFTER_S = 0.2


class AgentRun:
    """What the daemon holds of a run is an attachment; `retire` and `end` are decisions someone makes."""

    def __init__(self, session: LiveSession, adopted: RunRow | None = None) -> None:
        self.session = session
        session.context.faults(FaultPoint.RUN_INIT if adopted is None else FaultPoint.ADOPT_INIT, session.session_id)
        new, state = session.writer.new, session.writer.state
        self.conversation_id = state.conversation_id or new.session_id
        self._first = adopted or RunRow(RunKey(0), session.writer.key, new_run_id(), RunState.SPAWNING, clock_ns())
        self.dialogue: Dialogue = session.provider.dialogue(
            new, self.conversation_id, self.row.dialogue_state, version=self.row.dialogue_version
        )
        self.attached = anyio.Event()
        self.ended = anyio.Event()
        has_spoken = self.row.offset > 0 and self.dialogue.view.conversation_began
        self.flags = RunFlags(
            asked_to_end=self.row.cancel_step.ends_agent,
            was_begun=adopted is None or adopted.offset > 0,
            has_spoken=has_spoken,
            has_said_anything=self.row.offset > 0,
            has_served=has_spoken and not self.dialogue.view.turn_open,
        )
        self.escalation = CancelEscalation(self)
        self.attachment: Attachment | None = None
        self.active_at = anyio.current_time()
        self.watch = HangWatchdog(self)
        self.calls = ToolCallScreener(self)
        self._replies = AutoResponses(self)
        self._exit: Record | None = None

    @property
    def row(self) -> RunRow:
        """The run as stored; until it is stored, as it begins."""
        stored = self.session.writer.session.run
        return stored if stored is not None and stored.run_id == self._first.run_id else self._first

    @property
    def directory(self) -> Path:
        return self.session.context.runs_dir / self.row.run_id

    @property
    def run_id(self) -> str:
        return self.row.run_id

    @property
    def offset(self) -> int:
        return self.row.offset

    @property
    def holder_pid(self) -> int:
        return self.row.holder_pid

    @property
    def agent(self) -> tuple[int, int]:
        return self.row.agent_pid, self.row.agent_start

    async def belongs_to(self, project: str) -> bool:
        """Whether trust in this project decides which files it loads."""
        return await self.session.project.belongs_to(project)

    def refuse_inputs(self) -> None:
        """Deliver nothing more to it; its end is no crash, and what it did not take goes to the next agent."""
        self.flags = replace(self.flags, asked_to_end=True)

    def note_activity(self) -> None:
        """Something was read from it or given to it: it is neither idle nor silent."""
        self.active_at = anyio.current_time()

    @property
    def is_outdated(self) -> bool:
        return self.flags.is_outdated

    def outdate(self) -> None:
        """Retire it as soon as it is idle: the trust in its project has changed."""
        self.flags = replace(self.flags, is_outdated=True)
        self.retire_soon()

    @property
    def idle_since(self) -> float | None:
        with (session := self.session).failure.guard(FaultPoint.IDLE_CHECK):
            session.context.faults(FaultPoint.IDLE_CHECK, session.session_id)
            idle = (
                session.at_rest and not session.prompts and not self.dialogue.view.holds and not self.flags.asked_to_end
            )
            return self.active_at if idle and self.attachment is not None else None
        return None

    async def begin(self) -> None:
        """Start the agent and stay with it to its end."""
        with Span("agent", self.session.session_id, root=True):
            await self._live(fresh=True)

    async def adopt(self) -> None:
        """Go on with an agent that a daemon before us started, or read what it left."""
        with Span("agent", self.session.session_id, root=True):
            await self._live(fresh=False)

    async def _live(self, *, fresh: bool) -> None:
        memory = self.session.context.memory
        memory.add(self)
        self.escalation.begin()  # where a daemon before us died in the middle of it
        trouble = ""
        try:
            if not fresh or await start(self):
                await self._stay()
            else:
                trouble = "the start was cancelled"
        except Exception as error:
            logger.exception("the agent was ended early", extra=self.session.log_extra)
            trouble = self.session.context.run_problems.explain(self.run_id, self.session.session_id, error)
            await give_up(self.directory, self.row)  # something here failed, not the agent
        finally:
            memory.remove(self)
            self.attached.set()
        await self._finish(trouble)
        await see_off(self.directory)

    async def _stay(self) -> None:
        """Read on until the agent's end is read, through whatever happens to the connection."""
        reader = JournalReader(
            self.directory, self.row.offset, line_limit_bytes=self.session.context.settings.frame_limit_bytes
        )
        with closing(reader):
            while True:
                try:
                    if await self._stay_with_holder(reader):
                        return
                except Exception as error:
                    if not is_shortage(error):
                        raise
                logger.warning("the connection to the holder is lost; attaching again", extra=self.session.log_extra)
                await anyio.sleep(REATTACH_AFTER_S)

    async def _stay_with_holder(self, reader: JournalReader) -> bool:
        """True once the agent's end was read, from its holder or from what a dead one left."""
        try:
            async with attach(self.directory) as attachment:
                if await self._stay_attached(attachment, reader):
                    await self.session.context.processes.release(self.run_id)
                    await attachment.quit()
                    return True
        except HolderGone:
            pass
        finally:
            self.attachment = None
        if not await anyio.to_thread.run_sync(bar, self.directory):
            return False
        await self._read_rest(reader)
        return True

    async def _stay_attached(self, attachment: Attachment, reader: JournalReader) -> bool:
        """True once the agent's end was read; False when the holder went away."""
        await self._note_ready(attachment)
        self.attachment = attachment
        self.attached.set()
        if self.flags.asked_to_end:
            await attachment.end(END_GRACE_S)  # asked for while there was nobody to tell
        await self.calls.take_up()
        self.session.settle()  # what a daemon before us accepted and did not hand over is still to be done
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(deliver, self, attachment)
            ended = await self._read_on(attachment, reader)
            tasks.cancel_scope.cancel()
        return ended

    async def _note_ready(self, attachment: Attachment) -> None:
        hello = attachment.hello
        async with self.session.lock:
            state = self.row.state
            if state is RunState.SPAWNING:
                state = advance(state, RunStimulus.AGENT_READY)
            row = replace(
                self.row,
                state=state,
                holder_pid=hello.holder_pid,
                agent_pid=hello.agent_pid,
                agent_start=hello.agent_start,
            )
            if row != self.row:
                await self.session.perform_locked(Decision(changes=(SaveRun(row),)), surely=True)

    # ------------------------------------------------------------ reading

    async def _read_on(self, attachment: Attachment, reader: JournalReader) -> bool:
        end = 0
        while True:
            records = reader.read_cached(READ_BYTES)
            if records is None:
                records = await anyio.to_thread.run_sync(reader.read, READ_BYTES)
            if records:
                with Span("turn", root=True, session_id=self.session.session_id):
                    ended = await self._take_in(records)
                if ended:
                    return True
                await anyio.lowlevel.checkpoint()  # followers first: they wait for what was just announced
                if reader.position < max(reader.seen, end):
                    continue
            try:
                end = await attachment.grown(max(end, reader.seen))
            except HolderGone:
                return False

    async def _read_rest(self, reader: JournalReader) -> None:
        """The holder is gone: its journal holds all there will ever be."""
        reader.finish()
        while records := await anyio.to_thread.run_sync(reader.read, READ_BYTES):
            with Span("turn", root=True, session_id=self.session.session_id):
                ended = await self._take_in(records)
            if ended:
                return
        row, processes = self.row, self.session.context.processes
        await processes.observe()
        seen = processes.left_of(row.run_id)
        await anyio.to_thread.run_sync(partial(end_leftovers, row.run_id, row.agent_pid, row.agent_start, seen=seen))

    async def _take_in(self, records: Sequence[Record]) -> bool:
        """Events, rows, position and the dialogue's state in one commit; True when the agent's end was among them."""
        session = self.session
        log_records(session, records)
        async with session.lock:
            writer = session.writer
            if any(self.dialogue.may_ask(record) for record in records):
                await session.screening.refresh()
            answering, before = self.dialogue.view.answering, self.row
            began_ns = session.turns.parsing()
            batch = await translate(session.session_id, self.dialogue, records, PromptReviewer(self))
            view = self.dialogue.view
            intake = RecordIngest(
                writer.key, session.session_id, writer.session, writer.next_seq, clock_ns(), session.stop_request.client
            )
            # Whatever version wrote the dialogue's state that was read, the state that is stored now is this one's.
            row = intake.take(batch, replace(self.row, dialogue_version=session.provider.dialogue_version))
            session.turns.parsed(began_ns, len(records))
            if row.cancel_step is CancelStep.INTERRUPTED and view.answering and not answering:
                hand_over(intake, session.interrupt_row(cancel_queued=row.cancel_queued))
            await self._replies.add_to(intake)
            opened = assign_expiry(session, intake.said, intake.changes)
            if view.conversation_began and not writer.state.conversation_began:
                intake.said += await compact.before_fork(session)
            session.context.faults(FaultPoint.AFTER_READING, session.session_id)
            state = writer.state
            turn_open = self.dialogue.view.turn_open and row.cancel_step is not CancelStep.LEAVING
            status = status_after(state.status, intake.inputs.values(), session.budget.prompt, turn_open=turn_open)
            if self._replies.must_ask_to_go_on(intake, rests=status is SessionStatus.IDLE):
                self._replies.ask_to_go_on(intake)
                status = state.status
            elif state.turn_interrupted and state.status is not status is SessionStatus.IDLE:
                intake.end_lost_turn()
            fields: StateFields = {
                "status": status,
                "conversation_id": view.conversation_id or state.conversation_id,
                "conversation_began": view.conversation_began or state.conversation_began,
                "transcript": intake.transcript_after(state.transcript),
                "crashes": state.crashes.turn_finished() if intake.turn_completed else state.crashes,
            }
            fields |= pause_fields(view.api_pause)
            decision = Decision(tuple(intake.said), tuple(intake.changes), fields)
            await session.perform_locked(decision, surely=True)
            self.flags = self.flags.with_records(
                has_output=self.flags.has_said_anything or any(one.kind is RecordKind.OUT for one in records),
                has_spoken=self.dialogue.view.has_spoken,
                turn_completed=intake.turn_completed,
            )
            record_opened(session, opened)
            compact.note_events(session, intake.said)
            self.note_activity()
            if intake.exit is not None:
                self._exit = intake.exit
                return True
            if not view.is_ready and view.failure is not None:
                self.watch.condemn("it could not start")  # and would not end by itself
            if intake.turn_completed:
                self.escalation.note_turn_over()
            session.settle()
            if intake.turn_completed:
                compaction_triggers.after_turn(session)
                session.context.reports.note(writer.key, writer.state)
        if intake.turn_cancelled:
            self.escalation.sweep(before.turn_began)
        session.followers.look_for_laggards()
        return False

    # ------------------------------------------------------------ ending

    def retire_soon(self) -> None:
        """Retire it in a task of its session."""
        self.session.tasks.start_soon(FaultPoint.RETIRE, self.retire)

    async def retire(self, grace_s: float = RETIRE_GRACE_S) -> None:
        """Let an idle agent go, with SIGTERM when it does not by itself; it is started again when it is wanted."""
        with self.session.failure.guard(FaultPoint.RETIRE):  # another session may wait here for memory
            async with self.session.lock:
                if self.idle_since is None:
                    return
                self.refuse_inputs()
            await self._end_with(grace_s, nothing_open=True)

    async def end(self) -> None:
        """End the agent and everything it started."""
        async with self.session.lock:
            self.refuse_inputs()
        await self._end_with(END_GRACE_S, nothing_open=False)

    async def end_with_daemon(self) -> None:
        """Like `end`; the turn is over, and a person's next message goes on with it."""
        self.flags = replace(self.flags, stopped=True)
        with self.session.failure.guard(FaultPoint.SHUTDOWN):
            self.session.context.faults(FaultPoint.SHUTDOWN, self.session.session_id)
            await self.end()

    async def _end_with(self, grace_s: float, *, nothing_open: bool) -> None:
        """The holder does it all by itself, so that a daemon that dies meanwhile leaves no agent half ended."""
        if self.attachment is not None:
            with suppress(HolderGone):  # told again when attached again
                await self.attachment.end(grace_s, nothing_open=nothing_open)
        await self.ended.wait()

    async def _finish(self, trouble: str) -> None:
        await record_exit(self, self._exit, trouble)
        self.ended.set()
        self.escalation.note_turn_over()
