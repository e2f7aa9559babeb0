"""Classify the end of an agent process, and decide its effects: events, changes, and whether to restart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from betcode.domain.agents.agent_state import Failure
from betcode.domain.permissions.audit import DecidedBy
from betcode.domain.runs.crash_policy import CrashHistory
from betcode.domain.runs.exit_record import parse_exit
from betcode.domain.runs.journal_record import Record
from betcode.domain.runs.state import CancelStep, RunStimulus
from betcode.domain.sessions.status import SessionStatus
from betcode.domain.sessions.transcript import TranscriptEnd, TurnOutcome
from betcode.domain.store.changes import Change, MoveInput
from betcode.domain.store.rows import NO_CRASHES, OPENS_TURN, InputKind, InputRow, InputState, PromptRow
from betcode.engine.core import events, exit_messages, orphaned_prompts
from betcode.engine.operations import compact
from betcode.engine.shell import directory_check
from betcode.v1 import agent_pb2 as v1

if TYPE_CHECKING:
    from betcode.engine.shell.run import AgentRun
    from betcode.engine.shell.session import LiveSession

_SHOWN = {
    InputState.CONSUMED: v1.MESSAGE_STATE_CONSUMED,
    InputState.CANCELLED: v1.MESSAGE_STATE_CANCELLED,
    InputState.UNKNOWN: v1.MESSAGE_STATE_UNKNOWN,
}
_LAST_WORDS = 600  # characters of what the agent last wrote to stderr
_START_ADVICE = "read its output, and try to run it by hand in the same directory"


@dataclass(slots=True)
class RunExit:
    note: str
    crashed: bool  # nobody asked for it, and a turn was open
    spoke: bool
    was_given_messages: bool = False  # that it had not consumed
    stopped: bool = False  # together with its daemon
    after_cancel: bool = False  # it was being cancelled, or made way after a cancel
    cancelled: bool = False  # in the middle of a turn that was to be cancelled
    cancelled_messages: tuple[str, ...] = ()  # those the turn answered, or would have
    has_conversation: bool | None = None  # what was wrongly believed of the agent's transcript
    advice: str = ""  # where no second try heals it: what a person can do
    crashes: CrashHistory = field(default_factory=CrashHistory)
    too_many: bool = False  # crashes in a short time
    retry_in_s: float | None = None  # None: no other agent is started by itself
    retry_at_ns: int = 0
    tools: tuple[str, ...] = ()  # that were at work
    voided: list[v1.AgentEvent] = field(default_factory=list)  # words that the next agent says anew
    fates: dict[str, InputState] = field(default_factory=dict)  # inputs that are given up
    lost: tuple[str, ...] = ()  # messages of a turn that the next agent, started for others, does not go on with

    @property
    def stimuli(self) -> tuple[RunStimulus, ...]:
        if not self.crashed:
            return (RunStimulus.AGENT_EXITED,)
        if self.retry_in_s is not None:
            return (RunStimulus.AGENT_CRASHED,)
        return (RunStimulus.AGENT_CRASHED, RunStimulus.GIVEN_UP)


def classify_exit(
    run: AgentRun, exit_record: Record | None, trouble: str, now_ns: int, *, directory_advice: str = ""
) -> RunExit:
    """Why the agent is gone, in words a person understands, and whether another is started by itself.

    `directory_advice` says what to do about the working directory of an agent that could not start there.
    """
    session, policy = run.session, run.session.context.crashes
    asked = _asked_for(run)
    cancelled = _cancelled(run) if run.row.cancel_step.owes_an_end else []
    failure = None if asked else run.dialogue.failure
    end = RunExit(
        note=trouble or run.watch.verdict or _exit_note(exit_record),
        crashed=run.was_begun and not asked and not compact.ends_with_agent(run) and _broke_off(run, failure),
        spoke=run.has_spoken and not (failure and failure.did_nothing),
        stopped=run.stopped,
        was_given_messages=session.unconsumed(run),
        after_cancel=run.row.cancel_step is not CancelStep.NONE,
        cancelled=run.row.cancel_step.owes_an_end,
        cancelled_messages=tuple(row.input_id for row in cancelled),
        advice=failure.advice if failure else run.watch.advice,
    )
    if not end.crashed:
        end.fates = _fates(run, end)
        return end
    if last_words := " ".join(run.dialogue.last_errors)[-_LAST_WORDS:]:
        end.note = f"{end.note}; it said: {last_words}"
    if failure is not None and _only_mistaken(session, failure):
        end.advice, end.has_conversation = "", failure.has_conversation
    elif not run.has_spoken and not run.watch.verdict and (trouble or _ended_by_itself(exit_record)):
        end.advice = end.advice or directory_advice or _START_ADVICE
    end.tools = run.dialogue.running_tools
    end.crashes = session.writer.state.crashes.with_crash(now_ns, policy)
    end.too_many = end.crashes.too_many(policy)
    end.fates = _fates(run, end)
    if any(row.kind is InputKind.MESSAGE and _is_left(session, end, row) for row in session.inputs.values()):
        end.retry_in_s = end.crashes.wait_s(policy)
        end.retry_at_ns = end.crashes.due_ns(policy)
        end.voided = run.dialogue.voided(now_ns)
        end.lost = tuple(name for name, state in end.fates.items() if state is InputState.UNKNOWN)
    return end


async def directory_advice(run: AgentRun) -> str:
    """What to do about the working directory of an agent that never spoke; empty: nothing."""
    if run.has_spoken:
        return ""
    return await directory_check.directory_advice(run.session.context.file_io, run.session.directory)


def _cancelled(run: AgentRun) -> list[InputRow]:
    """The messages of the turn that was to be cancelled.

    Those it answered; before it began, the first it had; where it was to continue a turn, those of that turn.
    """
    inputs = run.session.inputs
    begun = [inputs[name] for name in run.dialogue.answering if name in inputs]
    messages = [row for row in inputs.values() if row.kind is InputKind.MESSAGE]
    given = [row for row in messages if row.run == run.row.key]
    continued = [row for row in messages if row.number] if run.session.writer.state.turn_interrupted else []
    return begun or given[:1] or continued


def exit_effects(session: LiveSession, end: RunExit) -> tuple[list[v1.AgentEvent], list[Change], dict[str, object]]:
    """What is said, stored and changed in the session because its agent is gone."""
    said, changes = _what_went_with_it(session, end)
    active = session.writer.state.status is SessionStatus.ACTIVE
    fields: dict[str, object] = {}
    is_owed = _goes_on(session, end)
    rests = active and (end.stopped or not is_owed)
    if end.stopped and is_owed and (end.after_cancel or _ends_compaction(session, end)):
        said.append(exit_messages.waiting_notice())
    if end.after_cancel:
        said += exit_messages.cancel_events(end, rests=rests)
        fields["crashes"] = NO_CRASHES
        if end.cancelled:
            fields["transcript"] = session.writer.state.transcript.after(TurnOutcome.ABANDONED)
        if rests:
            fields["status"] = SessionStatus.IDLE
    elif not end.crashed and _ends_compaction(session, end):
        why = "the daemon was stopped together with its agents" if end.stopped else _why(session, end)
        said += compact.closing_events(session, why, rests=rests)
        if rests:
            fields["status"] = SessionStatus.IDLE
    elif end.crashed:
        said += end.voided
        said += exit_messages.crash_events(session.writer.new, end)
        fields |= _what_is_believed(session, end)
        fields["crashes"] = end.crashes if end.retry_in_s is not None else NO_CRASHES
        if end.retry_in_s is None and active:
            fields["status"] = SessionStatus.IDLE
    elif end.stopped and active:
        said += exit_messages.stop_events()
        fields["status"] = SessionStatus.IDLE
        if end.spoke:
            fields["transcript"] = session.writer.state.transcript.after(TurnOutcome.BROKE_OFF)
    elif end.advice:
        said.append(events.notice(v1.NOTICE_KIND_RUN, f"The agent ended ({end.note}). What to do: {end.advice}"))
    return said, changes, fields


def reason_not_continued(session: LiveSession, end: RunExit, fields: Mapping[str, object]) -> str:
    """Why no agent goes on with the turn of the one that ended; empty: one does, at once or when a person says more."""
    if end.after_cancel:
        return orphaned_prompts.CANCELLED
    if session.is_closed:
        return session.closed_words
    transcript = fields.get("transcript", session.writer.state.transcript)
    interrupted = isinstance(transcript, TranscriptEnd) and transcript.turn_interrupted
    if end.lost:
        return orphaned_prompts.GIVEN_UP
    if end.retry_in_s is not None or (interrupted and session.capabilities.continues_broken_turn):
        return ""
    return orphaned_prompts.GIVEN_UP if end.crashed else orphaned_prompts.NOT_CONTINUED


async def prompts_after(
    run: AgentRun, end: RunExit, fields: Mapping[str, object], now_ns: int, *, is_told: bool
) -> tuple[orphaned_prompts.PromptEffects, dict[str, PromptRow]]:
    """What becomes of prompts that wait, or that an agent before had left; and what is left to the next agent."""
    session = run.session
    if why := reason_not_continued(session, end, fields):
        open_prompts = [*session.prompts.values(), *session.left.values()]
        by = DecidedBy.PERSON if end.after_cancel or session.is_closed else DecidedBy.AGENT
        return orphaned_prompts.withdraw_prompts(
            session.session_id, open_prompts, why, now_ns, by, session.stopped_by
        ), {}
    return await orphaned_prompts.orphaned_by(session, run.row.key, is_told=is_told)


def _what_went_with_it(session: LiveSession, end: RunExit) -> tuple[list[v1.AgentEvent], list[Change]]:
    """The inputs that are given up, and the budget's question where none of them is left."""
    said: list[v1.AgentEvent] = []
    changes: list[Change] = []
    for input_id, state in end.fates.items():
        row = session.inputs[input_id]
        changes.append(MoveInput(row.session, row.input_id, state))
        if row.kind is InputKind.MESSAGE:
            reason = "cancelled" if end.after_cancel else _why(session, end)
            said.append(events.message_state(row.input_id, _SHOWN[state], reason))
    told, kept = session.budget.in_vain(end.fates, "The messages that waited for the answer are given up")
    return [*said, *told], [*changes, *kept]


def _why(session: LiveSession, end: RunExit) -> str:
    """How an agent ends that was told to is no news: who closed its session is."""
    return session.closed_words if session.writer.state.status is SessionStatus.CLOSED else end.note


def _asked_for(run: AgentRun) -> bool:
    if run.row.cancel_step:
        return True
    if run.watch.verdict and not run.stopped and run.session.writer.state.status is not SessionStatus.CLOSED:
        return False  # a hung agent that takes no input any more looks as if it had been asked
    return run.asked_to_end or run.stopped


def _broke_off(run: AgentRun, failure: Failure | None) -> bool:
    """Whether something was begun, or could not begin, because the agent is gone."""
    session = run.session
    # A message on its way is not in the dialogue yet: an agent that ended before it came has broken off nothing.
    if run.dialogue.turn_open or (session.unconsumed(run) and not run.has_served) or not run.row.key:
        return True
    return session.has_messages and (failure is not None or not run.has_spoken)


def _only_mistaken(session: LiveSession, failure: Failure) -> bool:
    """Whether an agent died so early that we were wrong about its transcript; the next one is started the other way.

    Where a turn was ever finished the transcript must be there, and a new conversation would silently know nothing.
    """
    state = session.writer.state
    if failure.has_conversation is None or failure.has_conversation == state.conversation_began:
        return False
    return failure.has_conversation or not (state.input_tokens or state.output_tokens)


def _what_is_believed(session: LiveSession, end: RunExit) -> dict[str, object]:
    """Of the agent's transcript and of the turn in it."""
    if end.has_conversation is not None:
        there = session.writer.state.transcript.after(TurnOutcome.BROKE_OFF)
        return {
            "conversation_began": end.has_conversation,
            "transcript": there if end.has_conversation else TranscriptEnd.FINISHED,
        }
    # A turn that was given up is not begun again behind the next message.
    given_up = bool(end.advice) or end.too_many or bool(end.lost)
    # An agent may take a message up and die before its first word; the next one then calls the message known.
    transcript = session.writer.state.transcript
    if not (transcript.turn_interrupted or end.spoke or end.was_given_messages):
        return {}
    return {"transcript": transcript.after(TurnOutcome.ABANDONED if given_up else TurnOutcome.BROKE_OFF)}


def _fates(run: AgentRun, end: RunExit) -> dict[str, InputState]:
    fates = ((row.input_id, _fate(run, end, row)) for row in run.session.inputs.values())
    return {input_id: state for input_id, state in fates if state is not None}


def _fate(run: AgentRun, end: RunExit, row: InputRow) -> InputState | None:
    """What becomes of an open input; None: it stays open and goes to the next agent."""
    session = run.session
    if row.kind is InputKind.COMPACTION and compact.passes_to_next_agent(run, row) and not end.crashed:
        return None
    if row.kind is not InputKind.MESSAGE:
        return InputState.CANCELLED  # bound to the turn, the prompt and the process it was meant for
    if session.writer.state.status is SessionStatus.CLOSED:
        return InputState.CANCELLED  # there will be no next agent
    if row.input_id in end.cancelled_messages:
        return InputState.CONSUMED if row.input_id in run.dialogue.answering else InputState.CANCELLED
    if row.run == run.row.key and run.row.cancel_queued:
        return InputState.CANCELLED
    if not end.crashed and not end.stopped and not end.after_cancel:
        return None
    if end.crashed and (end.advice or end.too_many):
        begun = end.spoke or session.writer.state.turn_interrupted  # by this agent, or by one before it
        return InputState.UNKNOWN if row.number and begun else InputState.CANCELLED
    if row.run == run.row.key and not session.capabilities.recognises_repeats:
        return InputState.UNKNOWN
    return None


def _ends_compaction(session: LiveSession, end: RunExit) -> bool:
    return any(session.inputs[name].kind is InputKind.COMPACTION for name in end.fates)


def _goes_on(session: LiveSession, end: RunExit) -> bool:
    """Whether a message or a compaction is left for the next agent."""
    return any(row.kind in OPENS_TURN and _is_left(session, end, row) for row in session.inputs.values())


def _is_left(session: LiveSession, end: RunExit, row: InputRow) -> bool:
    """Neither given up with this agent, nor held back until a person raises the budget."""
    return row.input_id not in end.fates and not session.budget.lets_wait(row)


def _ended_by_itself(record: Record | None) -> bool:
    """An agent that was killed before its first word may well start the next time."""
    if record is None:
        return False
    exited = parse_exit(record.data)
    return exited.is_readable and not exited.signal


def _exit_note(record: Record | None) -> str:
    return "its holder was killed" if record is None else parse_exit(record.data).note
