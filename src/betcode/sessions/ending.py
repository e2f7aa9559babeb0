"""What an agent's end means: asked for or not, with a turn open or not, and what history says of it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from betcode.domain.changes import Change, MoveInput
from betcode.domain.errors import ErrorCode
from betcode.domain.records import Record
from betcode.domain.rows import InputKind, InputState
from betcode.domain.run import RunStimulus
from betcode.domain.session import SessionStatus
from betcode.sessions import compacting, events
from betcode.v1 import agent_pb2 as v1

if TYPE_CHECKING:
    from betcode.sessions.live import LiveSession
    from betcode.sessions.run import AgentRun

_LAST_WORDS = 600  # characters of what the agent last wrote to stderr


@dataclass(slots=True)
class End:
    stimulus: RunStimulus
    note: str
    crashed: bool  # nobody asked for it, and a turn was open
    never_spoke: bool
    stopped: bool = False  # together with its daemon
    dropped: set[str] = field(default_factory=set)  # inputs that are given up


def judge(run: AgentRun, exit_record: Record | None, trouble: str) -> End:
    """Why the agent is gone, in words a person understands."""
    open_turn = run.dialogue.turn_open or run.session.unconsumed(run) or not run.row.key
    waiting = any(row.kind is InputKind.MESSAGE for row in run.session.inputs.values()) and not run.has_spoken
    asked_for = run.asked_to_end or run.stopped
    crashed = run.was_begun and not asked_for and (open_turn or waiting) and not compacting.is_at_work(run.session, run)
    note = trouble or _exit_note(exit_record)
    last_words = " ".join(run.dialogue.last_errors)[-_LAST_WORDS:]
    if crashed and last_words:
        note = f"{note}; it said: {last_words}"
    return End(
        stimulus=RunStimulus.AGENT_CRASHED if crashed else RunStimulus.AGENT_EXITED,
        note=note,
        crashed=crashed,
        never_spoke=not run.has_spoken,
        stopped=run.stopped,
    )


def consequences(
    session: LiveSession, run: AgentRun, end: End
) -> tuple[list[v1.AgentEvent], list[Change], dict[str, object]]:
    """What is said, stored and changed in the session because its agent is gone."""
    said, changes = session.lost_prompts("The agent that asked is gone; it asks again when the session goes on")
    compaction_ended = False
    for row in session.inputs.values():
        state = _fate(session, end, row.kind, assigned=row.run == run.row.key)
        if state is None or (row.kind is InputKind.COMPACTION and compacting.goes_to_the_next(run, row)):
            continue
        compaction_ended = compaction_ended or row.kind is InputKind.COMPACTION
        end.dropped.add(row.input_id)
        changes.append(MoveInput(row.session, row.input_id, state))
        if row.kind is InputKind.MESSAGE:
            shown = v1.MESSAGE_STATE_UNKNOWN if state is InputState.UNKNOWN else v1.MESSAGE_STATE_CANCELLED
            said.append(events.message_state(row.input_id, shown, end.note))
    fields: dict[str, object] = {}
    if compaction_ended and not end.crashed:
        rests = compacting.rests_after(session)
        said += compacting.last_words(session, end.note, goes_on=not rests)
        if rests:
            fields["status"] = SessionStatus.IDLE
    elif end.crashed:
        said += _crash_events(session, end)
        fields["turn_interrupted"] = not end.never_spoke
        if session.writer.state.status is SessionStatus.ACTIVE:
            fields["status"] = SessionStatus.IDLE
    elif end.stopped and session.writer.state.status is SessionStatus.ACTIVE:
        said += _stop_events()
        fields["turn_interrupted"] = not end.never_spoke
        fields["status"] = SessionStatus.IDLE
    return said, changes, fields


def _fate(session: LiveSession, end: End, kind: InputKind, *, assigned: bool) -> InputState | None:
    """What becomes of an open input; None: it stays open and goes to the next agent."""
    if kind is not InputKind.MESSAGE:
        return InputState.CANCELLED  # bound to the turn, the prompt and the process it was meant for
    if session.writer.state.status is SessionStatus.CLOSED:
        return InputState.CANCELLED  # there will be no next agent
    if end.crashed and end.never_spoke:
        return InputState.CANCELLED  # an agent that does not start must not meet the same message for ever
    if assigned and (end.crashed or end.stopped) and not session.provider.capabilities.recognises_repeats:
        return InputState.UNKNOWN
    return None


def _crash_events(session: LiveSession, end: End) -> list[v1.AgentEvent]:
    if end.never_spoke:
        message = f"The agent did not start: {end.note}"
        error = events.error(ErrorCode.AGENT_UNAVAILABLE, message, session_id=session.session_id)
    else:
        message = (
            f"The agent ended in the middle of a turn ({end.note}). "
            "A tool that was running may or may not have done its work. Send a message to go on"
        )
        error = events.error(ErrorCode.SUBPROCESS_CRASHED, message, session_id=session.session_id)
    return [
        events.status(v1.ERROR, "CRASHED"),
        error,
        events.turn_complete("crashed"),
        events.status(v1.IDLE),
    ]


def _stop_events() -> list[v1.AgentEvent]:
    message = (
        "The daemon was stopped together with its agents in the middle of a turn. "
        "A tool that was running may or may not have done its work. Send a message to go on"
    )
    return [events.notice(v1.NOTICE_KIND_RUN, message), events.turn_complete("stopped"), events.status(v1.IDLE)]


def _exit_note(record: Record | None) -> str:
    if record is None:
        return "its holder was killed"
    try:
        told = json.loads(record.data)
    except ValueError:
        return "it ended in a way that could not be read"
    if told.get("error"):
        return str(told["error"])
    if told.get("signal"):
        return f"killed by signal {told['signal']}"
    return f"exit code {told.get('code')}"
