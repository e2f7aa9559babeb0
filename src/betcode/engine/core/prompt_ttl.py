"""Expiry times of open prompts: set when a prompt opens, extended by client activity."""

from __future__ import annotations

import logging
from collections.abc import MutableMapping, Sequence
from typing import TYPE_CHECKING

from betcode.config.settings import EngineSettings
from betcode.domain.errors import BetcodeError
from betcode.domain.permissions.notification import NotificationReason
from betcode.domain.permissions.prompt_lifetime import ExtendOn, Lifetime
from betcode.domain.store.changes import Change, SavePrompt
from betcode.domain.store.rows import PromptRow, PromptState
from betcode.engine.core.orphaned_prompts import still_open
from betcode.engine.fault_points import FaultPoint
from betcode.v1 import agent_pb2 as v1

if TYPE_CHECKING:
    from betcode.engine.shell.session import LiveSession

logger = logging.getLogger(__name__)

_NS = 1_000_000_000


def lifetime_of(settings: EngineSettings) -> Lifetime:
    return Lifetime(
        round(settings.permission_ttl_s * _NS), tuple(round(each * _NS) for each in settings.reminder_intervals_s)
    )


def open_prompts(session: LiveSession) -> list[PromptRow]:
    """All that wait for a person: those of agents that are gone and a budget's question among them."""
    asked = [*session.prompts.values(), *still_open(session.orphaned)]
    return asked if session.budget.prompt is None else [*asked, session.budget.prompt]


def assign_expiry(
    session: LiveSession,
    said: Sequence[v1.AgentEvent],
    changes: list[Change],
    prompts: MutableMapping[str, PromptRow],
) -> list[PromptRow]:
    """Give every prompt that these changes open its end, also in the events that show it; which those are."""
    now_ns = session.context.deadlines.clock.now_ns()
    lifetime = lifetime_of(session.context.settings)
    opened: dict[str, PromptRow] = {}
    for place, change in enumerate(changes):
        if isinstance(change, SavePrompt) and change.row.state is PromptState.OPEN and not change.row.expires_ns:
            row = lifetime.opened(change.row, now_ns, is_seen=session.followers.is_watched)
            changes[place] = SavePrompt(row)
            opened[row.request_id] = row
            if row.request_id in prompts:
                prompts[row.request_id] = row
    for event in said if opened else ():
        asked, question = event.permission_request, event.user_question
        if event.HasField("permission_request") and asked.request_id in opened:
            asked.expires_at.FromNanoseconds(opened[asked.request_id].expires_ns)
        elif event.HasField("user_question") and question.group_id in opened:
            question.expires_at.FromNanoseconds(opened[question.group_id].expires_ns)
    return list(opened.values())


def record_opened(session: LiveSession, opened: Sequence[PromptRow]) -> None:
    """They are on disk and shown: have them looked at in time, and at once where nobody sees them."""
    context = session.context
    for row in opened:
        unseen = (
            not row.forwarded_ns and context.notifier is not None and context.notifier.wants(NotificationReason.ASK)
        )
        context.deadlines.note(0 if unseen else lifetime_of(context.settings).next_ns(row))


def extend_prompts(session: LiveSession, act: ExtendOn) -> None:
    """Somebody is there: give what is open all its time again, by and by. Costs nothing while there is none to give."""
    settings = session.context.settings
    if not settings.extend_on_activity or (settings.extend_on == "human" and act is not ExtendOn.HUMAN):
        return
    if _extended(session):
        session.tasks.start_soon(FaultPoint.PROMPT_EXTENSION, _extend, session)


async def _extend(session: LiveSession) -> None:
    try:
        async with session.changing():
            extended = _extended(session)
            await session.writer.write((), [SavePrompt(row) for row in extended])
    except BetcodeError as trouble:
        logger.warning("the time of prompts was not extended: %s", trouble, extra=session.log_extra)


def _extended(session: LiveSession) -> list[PromptRow]:
    if session.is_closed:
        return []
    context = session.context
    return lifetime_of(context.settings).extended(open_prompts(session), context.deadlines.clock.now_ns())
