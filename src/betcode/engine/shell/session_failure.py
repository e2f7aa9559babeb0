"""What happens when an unexpected error stops one session: its agent is ended, its log says so, others go on.

The session stays open. The next message starts a new agent; `session delete` removes it. Until its agent is ended and
the failure is recorded, calls that would change the session are refused.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import anyio

from betcode.domain.error_codes import ErrorCode
from betcode.domain.errors import SessionFailed, StorageDegraded
from betcode.domain.runs.state import LIVE, RunState
from betcode.domain.sessions.status import SessionStatus
from betcode.domain.sessions.transcript import TurnOutcome
from betcode.domain.store.changes import Change, MoveInput, SaveBinding, SaveRun
from betcode.domain.store.rows import NO_CRASHES, InputKind, InputRow, InputState, PromptRow, RunRow
from betcode.domain.values.identifiers import SessionId
from betcode.domain.values.secrets import redacted
from betcode.engine.agents.run_processes import end_run
from betcode.engine.core import events, orphaned_prompts
from betcode.engine.core.decision import Decision, ForbidStart, StateFields
from betcode.engine.core.state import with_nothing_open
from betcode.engine.core.status import pause_after_agent
from betcode.engine.operations import compact
from betcode.util import wall_clock
from betcode.util.background_loops import next_delay_s
from betcode.util.signal import ChangeSignal
from betcode.v1 import agent_pb2 as v1

if TYPE_CHECKING:
    from betcode.engine.shell.session import LiveSession

logger = logging.getLogger(__name__)

EVENT = "SESSION_FAILED"  # in the details of the notice, as for a session that was closed because of an error
_TASKS_WITHIN_S = 20.0  # a holder that is being started cannot be interrupted
_LOCK_WITHIN_S = 20.0
_WRITE_WITHIN_S = 10.0
_LONGEST = 300  # characters of the error
_SHOWN = {
    InputState.CANCELLED: v1.MESSAGE_STATE_CANCELLED,
    InputState.UNKNOWN: v1.MESSAGE_STATE_UNKNOWN,
}
_REASON = "an internal error stopped the session"


def describe(error: BaseException) -> str:
    """The error in one line, of a group the first one."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    words = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return redacted(words.replace("\n", " "))[:_LONGEST]


def sentence(session_id: SessionId, error: BaseException) -> str:
    """What a person reads in the session's log and in lists."""
    return (
        f"An internal error stopped this session: {describe(error)}. Its agent was ended and its history is stored. "
        "Messages without an answer are not sent again. Send a message to retry, or delete the session with "
        f"`betcode session delete {session_id}`. The daemon's log has the details"
    )


@dataclass(frozen=True, slots=True)
class OpenRows:
    """What a session has open when it fails."""

    inputs: Sequence[InputRow] = ()
    prompts: Sequence[PromptRow] = ()
    run: RunRow | None = None  # the newest one


def final_state(row: InputRow) -> InputState:
    """A message that an agent was given may have been begun; nothing else was."""
    return InputState.UNKNOWN if row.kind is InputKind.MESSAGE and row.number else InputState.CANCELLED


def records(
    session_id: SessionId, status: SessionStatus, rows: OpenRows, words: str, place: str, now_ns: int
) -> tuple[list[v1.AgentEvent], list[Change]]:
    """What the log says of the failure, and the rows that end with it."""
    withdrawn = orphaned_prompts.withdraw_prompts(session_id, rows.prompts, _REASON, now_ns)
    said, changes = list(withdrawn.said), list(withdrawn.changes)
    for row in rows.inputs:
        changes.append(MoveInput(row.session, row.input_id, final_state(row)))
        if row.kind is InputKind.MESSAGE:
            said.append(events.message_state(row.input_id, _SHOWN[final_state(row)], _REASON))
    if rows.run is not None and (rows.run.state in LIVE or rows.run.state is RunState.BACKING_OFF):
        changes.append(SaveRun(replace(rows.run, state=RunState.CRASHED, ended_ns=now_ns, exit_note=_REASON)))
    failed = events.error(ErrorCode.SESSION_FAILED, words, session_id=session_id, place=place)
    failed.error.is_fatal = True
    said += [events.status(v1.ERROR, "FAILED"), failed]
    if status is SessionStatus.ACTIVE:
        said.append(events.turn_complete("crashed"))
    if status is not SessionStatus.CLOSED:
        said.append(events.status(v1.IDLE))
    said.append(events.notice(v1.NOTICE_KIND_RUN, "The session has failed", event=EVENT, reason=words))
    return said, changes


class SessionFailure:
    """The failure of one session, from the error to the record in its log."""

    def __init__(self, session: LiveSession) -> None:
        self._session = session
        self._pending = ""  # the sentence of a failure that is not recorded yet
        self._settled = ChangeSignal()

    @property
    def reason(self) -> str:
        """Why the session failed; empty: it did not, or a message was accepted since."""
        return self._pending or self._session.binding.failure

    @property
    def is_pending(self) -> bool:
        """Its agent is being ended, or the failure is being recorded."""
        return bool(self._pending)

    def refuse_if_pending(self) -> None:
        """Raises SessionFailed."""
        if self._pending:
            raise SessionFailed(self._session.session_id, "its agent is being ended: retry in a moment")

    async def wait_settled(self, within_s: float) -> bool:
        """Wait while the failure is being recorded; False where it is not in time."""
        with anyio.move_on_after(within_s):
            while self._pending:
                await self._settled.wait()
        return not self._pending

    @contextmanager
    def guard(self, place: str) -> Iterator[None]:
        """Run a step that concerns this session alone: an unexpected error stops it and nothing else."""
        try:
            yield
        except Exception as error:  # noqa: BLE001 - whatever it is, it concerns this session alone
            self.report(place, error)

    def report(self, place: str, error: Exception) -> None:
        """Stop the session because of an error that nothing expected. Never waits, never raises."""
        session = self._session
        extra = session.log_extra | {"place": place}
        if self._pending or (self.reason and session.run is None and not session.inputs):
            logger.warning("a failed session failed again: %s", describe(error), extra=extra)
            return
        logger.error("an internal error stopped the session, in %s", place, exc_info=error, extra=extra)
        self._pending = sentence(session.session_id, error)
        session.act([ForbidStart()])
        session.tasks.cancel()
        session.context.tasks.start_soon(self._settle, place, name=f"failure of {session.session_id}")

    # ------------------------------------------------------------ settling

    async def _settle(self, place: str) -> None:
        """End the agent and record the failure, however often that has to be tried."""
        session, delay_s = self._session, 0.0
        while True:
            began = anyio.current_time()
            try:
                await self._settle_once(place)
            except Exception:
                delay_s = next_delay_s(delay_s, anyio.current_time() - began)
                message = "the failure of the session could not be recorded; retrying in %g s"
                logger.exception(message, delay_s, extra=session.log_extra)
            else:
                break
            await anyio.sleep(delay_s)
        self._pending = ""
        self._settled.notify()
        session.tell_phase()
        session.changed.notify()

    async def _settle_once(self, place: str) -> None:
        session = self._session
        if not await session.tasks.wait_cancelled(_TASKS_WITHIN_S):
            logger.warning("a task of the failed session does not end", extra=session.log_extra)
        with anyio.fail_after(_LOCK_WITHIN_S):
            await session.lock.acquire()
        try:
            rows = await self._open_rows()
            if rows.run is not None and rows.run.state in LIVE:
                await end_run(session.context.runs_dir, rows.run)
            await self._record(place, rows)
            self._reset()
        finally:
            session.lock.release()

    async def _open_rows(self) -> OpenRows:
        """As stored; what cannot be read is taken from memory."""
        session = self._session
        store, key, run = session.context.store, session.writer.key, session.run
        try:
            newest = await store.newest_run(key)
            prompts = [*(row for _, row in await store.open_prompts(key)), *await store.kept_prompts(key)]
            inputs = list(await store.open_inputs(key))
        except StorageDegraded:
            raise
        except Exception:
            logger.exception("the open rows of the failed session cannot be read", extra=session.log_extra)
            newest = run.row if run is not None and run.row.key else None
            prompts = [*session.prompts.values(), *session.orphaned.values()]
            inputs = list(session.inputs.values())
        if run is not None and newest is not None and run.row.key == newest.key:
            newest = run.row
        return OpenRows(inputs, prompts, newest)

    async def _record(self, place: str, rows: OpenRows) -> None:
        session, now_ns = self._session, wall_clock.now_ns()
        writer = session.writer
        status = writer.state.status
        said, changes = records(session.session_id, status, rows, self._pending, place, now_ns)
        binding = replace(session.binding, failure=self._pending, ended_ns=now_ns, stop_by_ns=0)
        changes.append(SaveBinding(writer.key, binding))
        fields: StateFields = {"crashes": NO_CRASHES}
        if status is SessionStatus.ACTIVE or writer.state.turn_interrupted or any(row.number for row in rows.inputs):
            fields["transcript"] = writer.state.transcript.after(TurnOutcome.ABANDONED)
        fields |= pause_after_agent(writer.state, now_ns)
        if status is SessionStatus.ACTIVE:
            fields["status"] = SessionStatus.IDLE
        with anyio.fail_after(_WRITE_WITHIN_S):
            await session.perform_locked(Decision(tuple(said), tuple(changes), fields), surely=True)

    def _reset(self) -> None:
        """Nothing of the session is open any more."""
        session, run = self._session, self._session.run
        session.run = None
        if run is not None:
            session.context.memory.remove(run)
            run.attachment = None
            run.attached.set()
            run.ended.set()
        session.set_value(with_nothing_open(session.writer.session))
        session.budget.reset()
        session.recovery.reset()
        compact.settle(session, _REASON)
        session.lifecycle.rests()
        session.followers.resume()
        session.input_lock.resume()
        if session.is_closed:
            session.input_lock.close()
            session.writer.tail.close()
        session.context.slots.give_back(session)
