"""Expiry of open prompts: set when a prompt opens, extended by client activity, and denied when it is reached."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from betcode.domain.error_codes import ErrorCode
from betcode.domain.permissions.audit import DecidedBy
from betcode.domain.permissions.notification import NotificationReason
from betcode.domain.permissions.prompt_lifetime import ExtendOn, Lifetime
from betcode.domain.store.changes import AddInput, Change, SavePrompt
from betcode.domain.store.rows import CarriedState, InputRow, PromptRow, PromptState
from betcode.domain.values.identifiers import SessionId
from betcode.engine.core import events
from betcode.engine.core.decision import Advance, Decision, Notify
from betcode.engine.core.orphaned_prompts import audit_change
from betcode.v1 import agent_pb2 as v1

TIMED_OUT = "Permission request timed out"
_EXPIRED = "Permission request expired after {ttl}. User can retry the operation."
_NS = 1_000_000_000


def lifetime_of(ttl_s: float, reminders_s: Iterable[float]) -> Lifetime:
    """The times that hold for all prompts."""
    return Lifetime(round(ttl_s * _NS), tuple(round(each * _NS) for each in reminders_s))


def with_expiry(
    changes: Sequence[Change], lifetime: Lifetime, now_ns: int, *, is_seen: bool
) -> tuple[list[Change], dict[str, PromptRow]]:
    """The changes with an expiry time in every prompt that they open, and those prompts by request id."""
    after: list[Change] = []
    opened: dict[str, PromptRow] = {}
    for change in changes:
        if isinstance(change, SavePrompt) and change.row.state is PromptState.OPEN and not change.row.expires_ns:
            row = lifetime.opened(change.row, now_ns, is_seen=is_seen)
            opened[row.request_id] = row
            after.append(SavePrompt(row))
        else:
            after.append(change)
    return after, opened


def expiry_shown(event: v1.AgentEvent, opened: dict[str, PromptRow]) -> int:
    """The expiry time that the event shows to clients; 0: it shows none of these prompts."""
    match event.WhichOneof("event"):
        case "permission_request":
            row = opened.get(event.permission_request.request_id)
        case "user_question":
            row = opened.get(event.user_question.group_id)
        case _:
            row = None
    return 0 if row is None else row.expires_ns


def first_check_ns(row: PromptRow, lifetime: Lifetime, *, notifies: bool) -> int:
    """When a new prompt is examined first: at once where nobody sees it and the daemon `notifies` people."""
    return 0 if notifies and not row.forwarded_ns else lifetime.next_ns(row)


def extends(act: ExtendOn, *, on_activity: bool, only_human: bool) -> bool:
    """Whether this act of a client extends the open prompts."""
    return on_activity and (act is ExtendOn.HUMAN or not only_human)


def expiry_message(ttl: str) -> str:
    """What the agent and people read of a prompt that nobody answered within this time."""
    return _EXPIRED.format(ttl=ttl)


@dataclass(frozen=True, slots=True)
class ExpiryFacts:
    """A prompt whose time is over."""

    prompt: PromptRow
    ttl: str  # as shown to people
    expired_ns: int  # by the clock of deadlines
    notification_id: str
    denial: InputRow | None = None  # the answer to the agent; None: no agent waits for one


def expire(session_id: SessionId, facts: ExpiryFacts, now_ns: int) -> Decision:
    """Deny a prompt that nobody answered: row, events, what the agent hears and the audit."""
    row, message = facts.prompt, expiry_message(facts.ttl)
    after = replace(row, state=PromptState.EXPIRED, kept=CarriedState.NO, answered_ns=facts.expired_ns, message=message)
    entry = audit_change(session_id, row, "expired", DecidedBy.EXPIRY, now_ns, note=f"after {facts.ttl}")
    about = {"request_id": row.request_id, "tool_name": row.tool_name[:200]}
    said = (
        events.resolved(row.request_id, "expired", message=message),
        events.error(ErrorCode.PERMISSION_TIMEOUT, TIMED_OUT, **about),
    )
    told: tuple[Change, ...] = () if facts.denial is None else (AddInput(facts.denial),)
    notify = Notify(after, NotificationReason.EXPIRED, facts.notification_id)
    return Decision(said, (SavePrompt(after), entry, *told), effects=(Advance(), notify))
