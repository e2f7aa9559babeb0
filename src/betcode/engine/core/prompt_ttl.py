"""Expiry times of open prompts: set when a prompt opens, extended by client activity."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from betcode.domain.permissions.prompt_lifetime import ExtendOn, Lifetime
from betcode.domain.store.changes import Change, SavePrompt
from betcode.domain.store.rows import PromptRow, PromptState
from betcode.v1 import agent_pb2 as v1

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
