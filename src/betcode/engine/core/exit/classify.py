"""Classify the end of an agent process: a crash or not, and whether another agent is started by itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from betcode.domain.agents.agent_state import Failure
from betcode.domain.runs.crash_policy import CrashHistory, CrashPolicy
from betcode.domain.runs.exit_record import ExitRecord
from betcode.domain.runs.state import CancelStep, RunStimulus
from betcode.domain.sessions import budget_state
from betcode.domain.store.rows import InputKind, InputRow, InputState, SessionState
from betcode.engine.core import compaction
from betcode.engine.core.view import RunView, SessionView

_LAST_WORDS = 600  # characters of what the agent last wrote to stderr
_START_ADVICE = "read its output, and try to run it by hand in the same directory"
_HOLDER_KILLED = "its holder was killed"


@dataclass(frozen=True, slots=True)
class ExitFacts:
    """What is known of a run, and of its session, when the agent is gone."""

    session: SessionView
    run: RunView
    exit: ExitRecord | None  # None: its holder was killed, and the journal may not be whole
    policy: CrashPolicy = field(default_factory=CrashPolicy)
    trouble: str = ""  # why the run could not be followed
    was_begun: bool = True  # not so where a daemon died before the run had a holder
    has_spoken: bool = False  # by itself, and not only in answer to a command
    has_served: bool = False  # it finished a turn
    hang: str = ""  # why the watchdog ended it; empty: it did not
    hang_advice: str = ""
    failure: Failure | None = None  # why another agent would fail the same way
    running_tools: tuple[str, ...] = ()
    last_errors: tuple[str, ...] = ()  # lines of its stderr
    directory_advice: str = ""  # what to do about the working directory of an agent that could not start there
    compaction_done: bool = False  # the agent had reported the boundary of the compaction under way


@dataclass(frozen=True, slots=True)
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
    fates: Mapping[str, InputState] = field(default_factory=dict)  # inputs that are given up
    lost: tuple[str, ...] = ()  # messages of a turn that the next agent, started for others, does not go on with

    @property
    def stimuli(self) -> tuple[RunStimulus, ...]:
        if not self.crashed:
            return (RunStimulus.AGENT_EXITED,)
        if self.retry_in_s is not None:
            return (RunStimulus.AGENT_CRASHED,)
        return (RunStimulus.AGENT_CRASHED, RunStimulus.GIVEN_UP)


def classify_exit(facts: ExitFacts, now_ns: int) -> RunExit:
    """Why the agent is gone, in words a person understands, and whether another is started by itself."""
    session, run = facts.session, facts.run
    asked = _was_requested(facts)
    failure = None if asked else facts.failure
    step = run.row.cancel_step
    cancelled = _cancelled_messages(facts) if step.owes_an_end else []
    ends_compaction = compaction.ends_with_agent(run, session.inputs.values())
    end = RunExit(
        note=facts.trouble or facts.hang or (_HOLDER_KILLED if facts.exit is None else facts.exit.note),
        crashed=facts.was_begun and not asked and not ends_compaction and _broke_off(facts, failure),
        spoke=facts.has_spoken and not (failure and failure.did_nothing),
        stopped=run.stopped,
        was_given_messages=session.unconsumed(run),
        after_cancel=step is not CancelStep.NONE,
        cancelled=step.owes_an_end,
        cancelled_messages=tuple(row.input_id for row in cancelled),
        advice=failure.advice if failure else facts.hang_advice,
    )
    return _crash(facts, end, failure, now_ns) if end.crashed else replace(end, fates=_fates(facts, end))


def _crash(facts: ExitFacts, end: RunExit, failure: Failure | None, now_ns: int) -> RunExit:
    """Decide whether another agent is started after the crash, and when."""
    note, advice, has_conversation = end.note, end.advice, None
    if last_words := " ".join(facts.last_errors)[-_LAST_WORDS:]:
        note = f"{note}; its last output: {last_words}"
    if failure is not None and _only_mistaken(facts.session.state, failure):
        advice, has_conversation = "", failure.has_conversation
    elif not facts.has_spoken and not facts.hang and (facts.trouble or _ended_by_itself(facts.exit)):
        advice = advice or facts.directory_advice or _START_ADVICE
    crashes = facts.session.state.crashes.with_crash(now_ns, facts.policy)
    end = replace(
        end,
        note=note,
        advice=advice,
        has_conversation=has_conversation,
        tools=facts.running_tools,
        crashes=crashes,
        too_many=crashes.too_many(facts.policy),
    )
    end = replace(end, fates=_fates(facts, end))
    if not any(is_left(facts.session, end, row) for row in facts.session.messages):
        return end
    return replace(
        end,
        retry_in_s=crashes.wait_s(facts.policy),
        retry_at_ns=crashes.due_ns(facts.policy),
        lost=tuple(name for name, state in end.fates.items() if state is InputState.UNKNOWN),
    )


def _cancelled_messages(facts: ExitFacts) -> list[InputRow]:
    """The messages of the turn that was to be cancelled.

    Those it answered; before it began, the first it had; where it was to continue a turn, those of that turn.
    """
    session, run = facts.session, facts.run
    begun = [session.inputs[name] for name in run.answering if name in session.inputs]
    given = [row for row in session.messages if row.run == run.row.key]
    continued = [row for row in session.messages if row.number] if session.state.turn_interrupted else []
    return begun or given[:1] or continued


def _was_requested(facts: ExitFacts) -> bool:
    run = facts.run
    if run.row.cancel_step:
        return True
    if facts.hang and not run.stopped and not facts.session.is_closed:
        return False  # a hung agent that takes no input any more looks as if it had been asked
    return run.asked_to_end or run.stopped


def _broke_off(facts: ExitFacts, failure: Failure | None) -> bool:
    """Whether something was begun, or could not begin, because the agent is gone."""
    session, run = facts.session, facts.run
    # A message on its way is not in the dialogue yet: an agent that ended before it came has broken off nothing.
    if run.turn_open or (session.unconsumed(run) and not facts.has_served) or not run.row.key:
        return True
    return session.has_work and (failure is not None or not facts.has_spoken)


def _only_mistaken(state: SessionState, failure: Failure) -> bool:
    """Whether an agent died so early that we were wrong about its transcript; the next one is started the other way.

    Where a turn was ever finished the transcript must be there, and a new conversation would silently know nothing.
    """
    if failure.has_conversation is None or failure.has_conversation == state.conversation_began:
        return False
    return failure.has_conversation or not (state.input_tokens or state.output_tokens)


def _fates(facts: ExitFacts, end: RunExit) -> dict[str, InputState]:
    fates = ((row.input_id, _fate(facts, end, row)) for row in facts.session.inputs.values())
    return {input_id: state for input_id, state in fates if state is not None}


def _fate(facts: ExitFacts, end: RunExit, row: InputRow) -> InputState | None:
    """What becomes of an open input; None: it stays open and goes to the next agent."""
    session, run = facts.session, facts.run
    if row.kind is InputKind.COMPACTION and compaction.passes_to_next_agent(run, row) and not end.crashed:
        return None
    if row.kind is not InputKind.MESSAGE:
        return InputState.CANCELLED  # bound to the turn, the prompt and the process it was meant for
    if session.is_closed:
        return InputState.CANCELLED  # there will be no next agent
    if row.input_id in end.cancelled_messages:
        return InputState.CONSUMED if row.input_id in run.answering else InputState.CANCELLED
    if row.run == run.row.key and run.row.cancel_queued:
        return InputState.CANCELLED
    if not end.crashed and not end.stopped and not end.after_cancel:
        return None
    if end.crashed and (end.advice or end.too_many):
        begun = end.spoke or session.state.turn_interrupted  # by this agent, or by one before it
        return InputState.UNKNOWN if row.number and begun else InputState.CANCELLED
    if row.run == run.row.key and not session.capabilities.recognises_repeats:
        return InputState.UNKNOWN
    return None


def is_left(session: SessionView, end: RunExit, row: InputRow) -> bool:
    """Neither given up with this agent, nor held back until a person raises the budget."""
    return row.input_id not in end.fates and not budget_state.waits_for_person(session.budget_prompt, row)


def _ended_by_itself(exited: ExitRecord | None) -> bool:
    """An agent that was killed before its first word may well start the next time."""
    return exited is not None and exited.is_readable and not exited.signal
