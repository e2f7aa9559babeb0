"""Give open prompts their expiry times, have them examined in time, and extend them when a client is active."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING

from betcode.domain.errors import BetcodeError
from betcode.domain.permissions.notification import NotificationReason
from betcode.domain.store.changes import Change, SavePrompt
from betcode.engine.core import prompt_ttl
from betcode.engine.core.decision import Decision
from betcode.engine.core.orphaned_prompts import still_open
from betcode.engine.fault_points import FaultPoint

if TYPE_CHECKING:
    from betcode.config.settings import EngineSettings
    from betcode.domain.permissions.prompt_lifetime import ExtendOn, Lifetime
    from betcode.domain.store.rows import PromptRow
    from betcode.engine.shell.session import LiveSession
    from betcode.v1 import agent_pb2 as v1

logger = logging.getLogger(__name__)


def lifetime_of(settings: EngineSettings) -> Lifetime:
    return prompt_ttl.lifetime_of(settings.permission_ttl_s, settings.reminder_intervals_s)


def open_prompts(session: LiveSession) -> list[PromptRow]:
    """All that wait for a person: those of agents that are gone and a budget's question among them."""
    asked = [*session.prompts.values(), *still_open(session.orphaned)]
    return asked if session.budget.prompt is None else [*asked, session.budget.prompt]


def assign_expiry(session: LiveSession, said: Sequence[v1.AgentEvent], changes: list[Change]) -> list[PromptRow]:
    """Give every prompt that these changes open its end, also in the events that show it; which those are."""
    now_ns = session.context.deadlines.clock.now_ns()
    lifetime = lifetime_of(session.context.settings)
    changes[:], opened = prompt_ttl.with_expiry(changes, lifetime, now_ns, is_seen=session.followers.is_watched)
    for event in said if opened else ():
        if expires_ns := prompt_ttl.expiry_shown(event, opened):
            asked = event.permission_request if event.HasField("permission_request") else event.user_question
            asked.expires_at.FromNanoseconds(expires_ns)
    return list(opened.values())


def record_opened(session: LiveSession, opened: Sequence[PromptRow]) -> None:
    """They are on disk and shown: have them examined in time, and at once where nobody sees them."""
    context = session.context
    notifies = context.notifier is not None and context.notifier.wants(NotificationReason.ASK)
    for row in opened:
        context.deadlines.note(prompt_ttl.first_check_ns(row, lifetime_of(context.settings), notifies=notifies))


def extend_prompts(session: LiveSession, act: ExtendOn) -> None:
    """Somebody is there: give what is open all its time again, by and by. Costs nothing while there is none to give."""
    settings = session.context.settings
    is_enough = prompt_ttl.extends(
        act, on_activity=settings.extend_on_activity, only_human=settings.extend_on == "human"
    )
    if is_enough and _extended(session):
        session.tasks.start_soon(FaultPoint.PROMPT_EXTENSION, _extend, session)


async def _extend(session: LiveSession) -> None:
    try:
        await session.perform(lambda _: Decision(changes=tuple(SavePrompt(row) for row in _extended(session))))
    except BetcodeError as trouble:
        logger.warning("the time of prompts was not extended: %s", trouble, extra=session.log_extra)


def _extended(session: LiveSession) -> list[PromptRow]:
    if session.is_closed:
        return []
    context = session.context
    return lifetime_of(context.settings).extended(open_prompts(session), context.deadlines.clock.now_ns())
