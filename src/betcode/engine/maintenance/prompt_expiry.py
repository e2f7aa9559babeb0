"""Remind people of unanswered prompts, and deny them at expiry. One task for all sessions."""

import logging
from dataclasses import replace

from betcode.domain.agents.commands import AnswerPermission, Behaviour
from betcode.domain.errors import BetcodeError
from betcode.domain.permissions.notification import NotificationReason
from betcode.domain.permissions.prompt_lifetime import MINUTE_NS, ExtendOn, is_over
from betcode.domain.store.changes import SavePrompt
from betcode.domain.store.rows import PromptRow
from betcode.domain.values.identifiers import SessionId, time_ordered_uuid
from betcode.domain.values.times import short_duration
from betcode.engine.context import EngineContext
from betcode.engine.core import events, prompt_ttl
from betcode.engine.core.decision import Decision, Effect, Notify
from betcode.engine.fault_points import FaultPoint
from betcode.engine.maintenance.prompt_times import extend_prompts, lifetime_of, open_prompts
from betcode.engine.registry import Registry
from betcode.engine.shell.session import LiveSession
from betcode.telemetry.log_context import begin
from betcode.util import wall_clock

logger = logging.getLogger(__name__)

SCAN_EVERY_NS = 5 * MINUTE_NS


async def run_prompt_expiry(registry: Registry) -> None:
    """Look at all open prompts when something is due, and every five minutes in any case."""
    begin("permission")
    deadlines = registry.context.deadlines
    while True:
        next_ns = deadlines.clock.now_ns() + SCAN_EVERY_NS
        deadlines.set(next_ns)  # before reading: what opens meanwhile is noted on top
        try:
            for at_ns in await check_prompts(registry):
                deadlines.note(at_ns)
        except BetcodeError as trouble:
            logger.warning("open prompts could not be checked: %s", trouble)
            deadlines.note(deadlines.clock.now_ns() + MINUTE_NS)
        except Exception:
            # A row that cannot be read; all else that the daemon does is not harmed.
            logger.exception("open prompts could not be checked")
            deadlines.note(deadlines.clock.now_ns() + MINUTE_NS)
        await deadlines.wait()


async def run_prompt_extension(registry: Registry) -> None:
    """Once a minute: a client that is attached gives the prompts of its session all their time again."""
    clock = registry.context.deadlines.clock
    while True:
        await clock.reaches(clock.now_ns() + MINUTE_NS)
        for live in list(registry.live.values()):
            if live.followers.present:
                extend_prompts(live, ExtendOn.ACTIVITY)


async def check_prompts(registry: Registry) -> list[int]:
    """Do what is due in any session, loaded or not; when something is due next."""
    context = registry.context
    lifetime, now_ns = lifetime_of(context.settings), context.deadlines.clock.now_ns()
    coming: list[int] = []
    due: dict[SessionId, None] = {}
    for session, row in await context.store.open_prompts(None):
        if row.expires_ns and lifetime.next_ns(row) > now_ns:
            coming.append(lifetime.next_ns(row))
            if not _is_untold(context, row):
                continue
        due[session] = None
    for session in due:
        try:
            async with registry.using(session) as live:
                context.faults(FaultPoint.PROMPT_EXPIRY, session)
                coming += await _settle(live)
        except BetcodeError as trouble:
            logger.warning("prompts that are due wait: %s", trouble, extra={"session_id": session})
            coming.append(now_ns + MINUTE_NS)
        except Exception as error:  # noqa: BLE001 - the prompts of other sessions are not harmed
            registry.report_failure(session, FaultPoint.PROMPT_EXPIRY, error)
            coming.append(now_ns + SCAN_EVERY_NS)
    return coming


async def _settle(session: LiveSession) -> list[int]:
    """What is due in one session; when something is due there next."""
    context = session.context
    coming: list[int] = []
    async with session.changing():
        for row in open_prompts(session):
            now_ns = context.deadlines.clock.now_ns()
            lifetime = lifetime_of(context.settings)
            if is_over(row, now_ns):
                await _expire(session, row, now_ns)
                continue
            after = row if row.expires_ns else lifetime.opened(row, now_ns, is_seen=True)  # of an earlier version
            numbers = lifetime.reminders_due(after, now_ns)
            if numbers:
                after = replace(after, reminders_sent=numbers[-1])
            effects: tuple[Effect, ...] = ()
            if _is_untold(context, row) and not session.followers.is_watched:
                after = replace(after, push_notification_id=time_ordered_uuid())
                effects = (Notify(after, NotificationReason.ASK, after.push_notification_id),)
            elif numbers:
                effects = (Notify(after, NotificationReason.REMINDER, time_ordered_uuid()),)
            if after != row:
                said = tuple(events.permission_reminder(after, number) for number in numbers)
                await session.perform_locked(Decision(said, (SavePrompt(after),), effects=effects))
            coming.append(lifetime.next_ns(after))
    return coming


async def _expire(session: LiveSession, row: PromptRow, now_ns: int) -> None:
    """Row, events, what the agent hears and the audit in one commit; the session goes on."""
    ttl = short_duration(session.context.settings.permission_ttl_s)
    message = prompt_ttl.expiry_message(ttl)
    is_budget = session.budget.prompt is not None and session.budget.prompt.request_id == row.request_id
    denial = None
    if not is_budget and row.request_id not in session.orphaned:  # else no agent waits, and only clients are notified
        denial = session.answer_row(AnswerPermission(row.request_id, Behaviour.DENY, row.input_json, message=message))
    facts = prompt_ttl.ExpiryFacts(row, ttl, now_ns, time_ordered_uuid(), denial)
    done = prompt_ttl.expire(session.session_id, facts, wall_clock.now_ns())
    if is_budget:
        await session.budget.expire(message, list(done.events), list(done.changes))
        session.context.faults(FaultPoint.AFTER_EXPIRY, session.session_id)
        session.act(done.effects)
    else:
        await session.perform_locked(done, reached=FaultPoint.AFTER_EXPIRY)
    logger.info("a prompt expired", extra=session.log_extra | {"request_id": row.request_id})


def _is_untold(context: EngineContext, row: PromptRow) -> bool:
    """Nobody has seen it, and nobody was told."""
    wanted = context.notifier is not None and context.notifier.wants(NotificationReason.ASK)
    return wanted and not row.forwarded_ns and not row.push_notification_id
