"""What history says of an agent that ended before its turn did."""

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
    from betcode.engine.core.exit import RunExit


def crash_events(session: NewSession, end: RunExit) -> list[v1.AgentEvent]:
    """The tools that may run twice; then when another agent goes on, or that none does and what to do."""
    said: list[v1.AgentEvent] = []
    details: dict[str, str] = {"session_id": session.session_id}
    if end.tools:
        names = ", ".join(end.tools)
        details["tools"] = names
        message = f"At work when the agent ended: {names}. It may have done its work, and may run a second time"
        said.append(events.notice(v1.NOTICE_KIND_RUN, message, tools=names))
    what = AgentCrashed(session.provider, end.note).message
    if end.retry_in_s is not None:
        details |= {
            "retry_after_ms": f"{end.retry_in_s * 1000:.0f}",
            "retry_at": rfc3339(end.retry_at_ns),
            "crashes": str(end.crashes.in_a_row),
        }
        then = "with what was sent since; ask again for what broke off" if end.lost else "and goes on with the turn"
        message = f"{what}. It is started again in {end.retry_in_s:g} s {then}"
        said.append(events.error(ErrorCode.SUBPROCESS_CRASHED, message, **details))
        return [*said, events.turn_complete("crashed", end.lost)] if end.lost else said
    code = ErrorCode.SUBPROCESS_CRASHED
    if end.advice and not end.spoke:
        code = ErrorCode.AGENT_UNAVAILABLE
        message = f"The agent did not start: {end.note}. What to do: {end.advice}"
    elif end.advice:
        message = f"{what}. It would fail again. What to do: {end.advice}"
    elif end.too_many:
        message = (
            f"{what}. That was crash number {len(end.crashes.times_ns)} in a short time, so it is not started again by "
            "itself. Send a message to begin afresh"
        )
    else:
        message = f"{what}. Send a message to go on"
    if end.advice:
        details["advice"] = end.advice
    failed = events.error(code, message, **details)
    failed.error.is_fatal = True
    return [
        *said,
        events.status(v1.ERROR, "CRASHED"),
        failed,
        events.turn_complete("crashed"),
        events.status(v1.IDLE),
    ]


def cancel_events(end: RunExit, *, rests: bool) -> list[v1.AgentEvent]:
    """The end of a turn that its agent did not end by itself; one that it did end is only followed by rest."""
    said: list[v1.AgentEvent] = []
    if end.cancelled:
        message = (
            f"The agent did not stop its turn when asked and was ended ({end.note}). "
            "A tool that was running may or may not have done its work"
        )
        said += [
            events.notice(v1.NOTICE_KIND_RUN, message),
            events.turn_complete("cancelled", end.cancelled_messages),
        ]
    if rests:
        said.append(events.status(v1.IDLE))
    return said


def lost_turn_events(message_ids: Sequence[str]) -> list[v1.AgentEvent]:
    """The end of a turn that the next agent takes for done: finished before the crash, unheard, or crashed twice."""
    message = (
        "After its crash the agent does not take this turn up again. What it was about to say is lost: ask it to go on"
    )
    return [
        events.notice(v1.NOTICE_KIND_RUN, message),
        events.turn_complete("crashed", message_ids),
        events.status(v1.IDLE),
    ]


def waiting_notice() -> v1.AgentEvent:
    message = (
        "The daemon was stopped together with its agents. What was sent and not begun goes on with the next message"
    )
    return events.notice(v1.NOTICE_KIND_RUN, message)


def stop_events() -> list[v1.AgentEvent]:
    message = (
        "The daemon was stopped together with its agents in the middle of a turn. "
        "A tool that was running may or may not have done its work. Send a message to go on"
    )
    return [events.notice(v1.NOTICE_KIND_RUN, message), events.turn_complete("stopped"), events.status(v1.IDLE)]
