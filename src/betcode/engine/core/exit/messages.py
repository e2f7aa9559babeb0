"""Events for the history of a session whose agent ended before its turn did."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from betcode.domain.error_codes import ErrorCode
from betcode.domain.errors import AgentCrashed
from betcode.domain.store.rows import NewSession
from betcode.domain.values.times import rfc3339
from betcode.engine.core import events
from betcode.v1 import agent_pb2 as v1

if TYPE_CHECKING:
    from betcode.engine.core.exit.classify import RunExit


def crash_events(session: NewSession, end: RunExit) -> list[v1.AgentEvent]:
    """The tools that may run twice; then when another agent goes on, or that none does and what to do."""
    new_events: list[v1.AgentEvent] = []
    details: dict[str, str] = {"session_id": session.session_id}
    if end.tools:
        names = ", ".join(end.tools)
        details["tools"] = names
        message = f"Running when the agent ended: {names}. It may have finished, and may run a second time"
        new_events.append(events.notice(v1.NOTICE_KIND_RUN, message, tools=names))
    what = AgentCrashed(session.provider, end.note).message
    if end.retry_in_s is not None:
        details |= {
            "retry_after_ms": f"{end.retry_in_s * 1000:.0f}",
            "retry_at": rfc3339(end.retry_at_ns),
            "crashes": str(end.crashes.in_a_row),
        }
        then = "with the messages sent since; repeat the interrupted request" if end.lost else "and continues the turn"
        message = f"{what}. It restarts in {end.retry_in_s:g} s {then}"
        new_events.append(events.error(ErrorCode.SUBPROCESS_CRASHED, message, **details))
        return [*new_events, events.turn_complete("crashed", end.lost)] if end.lost else new_events
    code = ErrorCode.SUBPROCESS_CRASHED
    if end.advice and not end.spoke:
        code = ErrorCode.AGENT_UNAVAILABLE
        message = f"The agent did not start: {end.note}. What to do: {end.advice}"
    elif end.advice:
        message = f"{what}. It is not restarted, because it would fail again. What to do: {end.advice}"
    elif end.too_many:
        message = (
            f"{what}. That was crash number {len(end.crashes.times_ns)} in a short time, so it is not restarted "
            "automatically. Send a message to start it again"
        )
    else:
        message = f"{what}. Send a message to continue"
    if end.advice:
        details["advice"] = end.advice
    failed = events.error(code, message, **details)
    failed.error.is_fatal = True
    return [
        *new_events,
        events.status(v1.ERROR, "CRASHED"),
        failed,
        events.turn_complete("crashed"),
        events.status(v1.IDLE),
    ]


def cancel_events(end: RunExit, *, rests: bool) -> list[v1.AgentEvent]:
    """The end of a turn that its agent did not end by itself; one that it did end is only followed by rest."""
    new_events: list[v1.AgentEvent] = []
    if end.cancelled:
        message = (
            f"The agent did not stop its turn when asked and was ended ({end.note}). "
            "A tool that was running may or may not have finished"
        )
        new_events += [
            events.notice(v1.NOTICE_KIND_RUN, message),
            events.turn_complete("cancelled", end.cancelled_messages),
        ]
    if rests:
        new_events.append(events.status(v1.IDLE))
    return new_events


def lost_turn_events(message_ids: Sequence[str]) -> list[v1.AgentEvent]:
    """The end of a turn that the next agent takes for done: finished before the crash, unheard, or crashed twice."""
    message = (
        "The agent does not continue this turn after its crash. The rest of its answer is lost: ask it to continue"
    )
    return [
        events.notice(v1.NOTICE_KIND_RUN, message),
        events.turn_complete("crashed", message_ids),
        events.status(v1.IDLE),
    ]


def waiting_notice() -> v1.AgentEvent:
    message = "The daemon was stopped together with its agents. Waiting messages are delivered with the next message"
    return events.notice(v1.NOTICE_KIND_RUN, message)


def stop_events() -> list[v1.AgentEvent]:
    message = (
        "The daemon was stopped together with its agents in the middle of a turn. "
        "A tool that was running may or may not have finished. Send a message to continue"
    )
    return [events.notice(v1.NOTICE_KIND_RUN, message), events.turn_complete("stopped"), events.status(v1.IDLE)]
