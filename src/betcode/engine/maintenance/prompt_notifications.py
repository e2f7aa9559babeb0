"""Notify people outside the clients of a prompt that waits, or that has expired."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from betcode.domain.permissions.notification import Notification, NotificationReason
from betcode.domain.values.secrets import redacted
from betcode.v1 import agent_pb2 as v1

if TYPE_CHECKING:
    from betcode.domain.store.rows import PromptRow
    from betcode.engine.core.decision import Notify
    from betcode.engine.shell.session import LiveSession

_DESCRIPTION_CHARACTERS = 500


def notify(session: LiveSession, effect: Notify) -> None:
    """Hand the notification over, if notifications of this kind are wanted."""
    notifier, row, occasion = session.context.notifier, effect.prompt, effect.reason
    if notifier is None or not notifier.wants(occasion):
        return
    notification = Notification(
        notification_id=effect.notification_id,
        occasion=occasion,
        request_id=row.request_id,
        session_id=session.session_id,
        session_name=session.writer.state.name,
        working_directory=session.writer.new.working_directory,
        tool_name=row.tool_name,
        description=redacted(described(row))[:_DESCRIPTION_CHARACTERS],
        asked_ns=row.asked_ns,
        expires_ns=row.expires_ns,
        number=row.reminders_sent if occasion is NotificationReason.REMINDER else 0,
    )
    notifier.notify(notification)


def described(row: PromptRow) -> str:
    """What is asked, in words: of a group of questions the first."""
    if row.description:
        return row.description
    shown: Sequence[v1.AgentEvent] = v1.AgentEventBatch.FromString(row.event).events if row.kind == "question" else ()
    return shown[0].user_question.question if shown else ""
