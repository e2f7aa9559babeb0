"""The status line: session state, and whether the connection is up."""

from collections.abc import Sequence
from dataclasses import dataclass

from textual.content import Content
from textual.widgets import Static

from betcode.client import Link, LinkState
from betcode.tui.input_lock.view import LockView
from betcode.tui.model.session_status import SessionStatusModel
from betcode.v1 import agent_pb2 as v1
from betcode.wording.money import dollars
from betcode.wording.silence import NO_ANSWER, SILENT_AFTER_S
from betcode.wording.terminal_text import columns, one_line

_WIDE = 100
_BAR = 8
_NAME = 24
_BETWEEN = " · "
_NORMAL = 60
_LONG_S = 1.5  # between attempts to connect
_HELPS = "stopped? betcode daemon start"
_READING = "Enter: expand · y: copy · Esc: input"
_READING_SHORT = "Esc: input"


@dataclass(frozen=True, slots=True)
class StatusPart:
    """A few words; if not all parts fit, those with the least weight are left out."""

    text: str
    weight: int
    style: str = ""


@dataclass(frozen=True, slots=True)
class StatusContext:
    """The values of the line that are not in the session's status."""

    link: Link | None = None  # None: not connected yet
    retry_in_s: float = 0.0  # time until the next attempt, if the connection is lost
    refusal: str = ""  # the daemon refuses this client, or the session was deleted
    turn_s: float | None = None  # the duration of the turn; None: unknown
    is_stopping: bool = False  # the person has cancelled the turn
    queued: int = 0
    waits: str = ""  # what the session waits for besides its agent, as text
    has_ended: bool = False
    is_reading: bool = False  # the conversation has the focus


class StatusLine(Static):
    """Shows the parts that fit."""

    def __init__(self) -> None:
        super().__init__(id="status", markup=False)
        self._last: tuple[Sequence[StatusPart], int] = ((), 0)

    def show(self, session_status: SessionStatusModel, lock: LockView, context: StatusContext) -> None:
        """Update the line."""
        width = max(self.size.width, 1)
        parts = fitting(parts_of(session_status, lock, context, width), width)
        if (parts, width) != self._last:
            self._last = (parts, width)
            between = Content.styled(_BETWEEN, "$text-muted")
            self.update(between.join(Content.styled(part.text, part.style) for part in parts))


def fitting(parts: Sequence[StatusPart], width: int) -> list[StatusPart]:
    """Return the parts with the most weight, in their order; the last remaining one is cut."""
    remaining = [part for part in parts if part.text]
    while len(remaining) > 1 and _width(remaining) > width:
        remaining.remove(min(reversed(remaining), key=lambda part: part.weight))
    if remaining and _width(remaining) > width:
        remaining = [StatusPart(one_line(remaining[0].text, width), remaining[0].weight, remaining[0].style)]
    return remaining


def _width(parts: Sequence[StatusPart]) -> int:
    return sum(columns(part.text) for part in parts) + len(_BETWEEN) * (len(parts) - 1)


def parts_of(
    session_status: SessionStatusModel, lock: LockView, context: StatusContext, width: int
) -> list[StatusPart]:
    """Return all parts for a line of this width."""
    tokens = session_status.tokens_in + session_status.tokens_out
    others = sum(1 for each in session_status.present if each.client_id != lock.own_id)
    return [
        _connection(context),
        StatusPart(_HELPS if _is_long_lost(context.link) else "", 9, "$text-muted"),
        _work(session_status, context),
        StatusPart(f"{context.queued} queued" if context.queued else "", 8),
        StatusPart("plan mode" if session_status.plan_mode else "", 8, "$text-warning"),
        StatusPart(
            f"budget reached ({', '.join(session_status.budget_reached)})" if session_status.budget_reached else "",
            8,
            "$text-warning",
        ),
        StatusPart(f"locked by {one_line(lock.holder, _NAME)}" if lock.is_held_elsewhere else "", 9, "$text-warning"),
        _context(session_status.context_percent, width),
        StatusPart(_cost(session_status), 7),
        StatusPart(one_line(_agent(session_status), _NAME), 5),
        StatusPart(one_line(_location(session_status), _NAME), 4),
        StatusPart(f"{short_count(tokens)} tokens" if tokens else "", 2),
        StatusPart(f"{others} other{'s' if others > 1 else ''} here" if others else "", 4),
        StatusPart(_READING if width >= _NORMAL else _READING_SHORT, 9, "$text-muted")
        if context.is_reading
        else StatusPart("F1: keys", 3, "$text-muted"),
    ]


def _connection(context: StatusContext) -> StatusPart:
    if context.refusal:
        return StatusPart(f"not connected: {one_line(context.refusal, 60)}", 11, "$text-error")
    if context.has_ended:
        return StatusPart("the session has ended", 11, "$text-warning")
    if context.link is None:
        return StatusPart("connecting", 11, "$text-warning")
    if context.link.state is LinkState.CONNECTED:
        return StatusPart("connected", 10, "$text-muted")
    wait = f"retry in {context.retry_in_s:.0f} s" if context.retry_in_s >= 1 else "reconnecting"
    return StatusPart(f"connection lost, {wait}", 11, "$text-error")


def _is_long_lost(link: Link | None) -> bool:
    """Whether the connection is down for longer than a restart of the daemon takes."""
    return link is not None and link.state is LinkState.BROKEN and link.retry_in_s >= _LONG_S


def _work(session_status: SessionStatusModel, context: StatusContext) -> StatusPart:
    if context.has_ended:
        return StatusPart("", 0)  # nothing is open in a deleted session, even if it was deleted during a turn
    if context.waits and session_status.status != v1.WAITING_FOR_USER and not context.is_stopping:
        return StatusPart(context.waits, 12, "$text-warning")
    if not session_status.is_at_work:
        return StatusPart("failed" if session_status.status == v1.ERROR else "idle", 10)
    if context.is_stopping:
        return StatusPart("interrupting, Esc forces", 12, "$text-warning")
    words = {
        v1.EXECUTING_TOOL: "running a tool",
        v1.WAITING_FOR_USER: "waiting for you",
        v1.COMPACTING: "compacting",
    }.get(session_status.status, "working")
    if session_status.status == v1.WAITING_FOR_USER:  # the card shows for how long
        return StatusPart(words, 12, "$text-warning")
    if context.turn_s is not None and context.turn_s >= SILENT_AFTER_S and not session_status.has_answered:
        return StatusPart(f"{NO_ANSWER}, {elapsed(context.turn_s)}", 12, "$text-warning")
    took = f" {elapsed(context.turn_s)}" if context.turn_s is not None else ""
    return StatusPart(words + took, 12, "$text-success")


def _context(percent: float, width: int) -> StatusPart:
    if not percent:
        return StatusPart("", 6)
    style = "$text-error" if percent >= 90 else "$text-warning" if percent >= 75 else ""
    if width < _WIDE:
        return StatusPart(f"{percent:.0f}% full", 6, style)
    filled = min(round(percent / 100 * _BAR), _BAR)
    return StatusPart(f"context {'█' * filled}{'░' * (_BAR - filled)} {percent:.0f}%", 6, style)


def _agent(session_status: SessionStatusModel) -> str:
    """Return the provider and the model; most models of Claude Code name their provider themselves."""
    model, kind = session_status.model, session_status.provider
    return model if kind and kind in model else " ".join(filter(None, (kind, model)))


def _location(session_status: SessionStatusModel) -> str:
    return " ".join(
        filter(None, (session_status.worktree, f"⎇ {session_status.branch}" if session_status.branch else ""))
    )


def elapsed(seconds: float) -> str:
    """Return `9 s`, `2:05`, `1:02:05`."""
    whole = int(seconds)
    if whole < 60:
        return f"{whole} s"
    hours, rest = divmod(whole, 3600)
    return f"{hours}:{rest // 60:02}:{rest % 60:02}" if hours else f"{rest // 60}:{rest % 60:02}"


def short_count(number: int) -> str:
    """Return `950`, `12.3k`, `4.5M`."""
    if number < 1000:
        return str(number)
    return f"{number / 1000:.1f}k" if number < 1_000_000 else f"{number / 1_000_000:.1f}M"


def _cost(session_status: SessionStatusModel) -> str:
    """Return the cost; empty if the agent does not report it, because unknown is not free."""
    is_reported = session_status.can is None or session_status.can.cost
    return dollars(session_status.cost_usd) or ("$0.00" if is_reported else "")
