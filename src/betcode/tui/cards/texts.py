"""Short texts about prompts: how long ago they were asked, and how they ended."""

from datetime import UTC, datetime

from betcode.v1 import agent_pb2 as v1
from betcode.wording.pending import tool_of, what_of
from betcode.wording.render import DENIALS
from betcode.wording.terminal_text import one_line
from betcode.wording.times import nearly, span

_WHAT_WIDTH = 60
_WHO_WIDTH = 40


def waits(prompt: v1.PendingPrompt, now: datetime) -> str:
    """Return how long ago the prompt was asked, and when it expires."""
    asked = f"asked {span(now - prompt.asked_at.ToDatetime(UTC))} ago" if prompt.HasField("asked_at") else "waits"
    if not prompt.HasField("expires_at"):
        return asked
    remaining = prompt.expires_at.ToDatetime(UTC) - now
    return f"{asked} · expires in {nearly(remaining)}" if remaining.total_seconds() > 0 else f"{asked} · expires now"


def named(prompt: v1.PendingPrompt) -> str:
    """Return the tool and its subject, on one line."""
    return f"{tool_of(prompt)} {one_line(what_of(prompt), _WHAT_WIDTH)}".rstrip()


def how_it_ended(prompt: v1.PendingPrompt, resolved: v1.PermissionResolved) -> str:
    """Return who decided and how, on one line."""
    who = one_line(resolved.client_id, _WHO_WIDTH) or "somebody"
    match resolved.resolution:
        case "answered" if prompt.WhichOneof("prompt") == "questions" and resolved.decision not in DENIALS:
            result = f"{who} answered"
        case "answered" if resolved.decision in DENIALS:
            result = f"{who} denied"
        case "answered" if resolved.decision == v1.ALLOW_WITH_EDIT:
            result = f"{who} allowed with an edit"
        case "answered" if resolved.decision == v1.ALLOW_SESSION:
            result = f"{who} allowed for the session"
        case "answered":
            result = f"{who} allowed"
        case "expired":
            result = "expired without an answer"
        case "superseded":
            result = "asked again"
        case "withdrawn":
            result = "withdrawn" if resolved.message else "withdrawn by the agent"
        case other:
            result = one_line(other, _WHO_WIDTH)
    reason = f" ({one_line(resolved.message, _WHAT_WIDTH)})" if resolved.message else ""
    return f"{result}{reason}: {named(prompt)}"
