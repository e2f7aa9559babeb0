"""Perform the effects of a decision that is committed. No effect waits."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, assert_never

from betcode.engine.core.decision import (
    Advance,
    AllowStart,
    BeginCompaction,
    CloseInputLock,
    DetachRun,
    Effect,
    EscalateCancel,
    FinishCompaction,
    ForbidStart,
    Notify,
    RefuseInputs,
    ReleaseSlot,
    RetryAfter,
    RetryNow,
    Settle,
    StopRetry,
    UseMetadata,
)
from betcode.engine.maintenance.prompt_notifications import notify
from betcode.engine.operations import compact

if TYPE_CHECKING:
    from betcode.engine.shell.session import LiveSession


def act(session: LiveSession, effect: Effect) -> None:  # noqa: C901 - a table
    match effect:
        case Advance():
            session.go_on()
        case Settle():
            session.settle()
        case ReleaseSlot():
            session.context.slots.give_back(session)
        case AllowStart():
            session.may_start = True
        case ForbidStart():
            session.may_start = False
        case RefuseInputs():
            if session.run is not None:
                session.run.refuse_inputs()
        case EscalateCancel():
            if session.run is not None:
                session.run.escalation.insist() if effect.insists else session.run.escalation.begin()
        case DetachRun():
            session.run = None
        case RetryAfter():
            session.recovery.back_off(effect.crashed, effect.wait_s)
        case RetryNow():
            session.recovery.hurry()
        case StopRetry():
            session.recovery.over()
        case BeginCompaction():
            session.compaction = compact.Compaction(effect.input_id)
        case FinishCompaction():
            compact.settle(session, effect.reason)
        case CloseInputLock():
            session.input_lock.close()
        case Notify():
            notify(session, effect)
        case UseMetadata():
            session.writer.new = replace(session.writer.new, metadata=effect.metadata)
        case _:
            assert_never(effect)
