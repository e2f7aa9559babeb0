"""The input lock on the screen: its state, notices of changes, and the card that answers a request."""

import math
from dataclasses import dataclass
from datetime import UTC, datetime

from textual import events
from textual.message import Message
from textual.widgets import Static

from betcode.v1 import agent_pb2 as v1
from betcode.wording.input_lock import called
from betcode.wording.terminal_text import one_line

_NAME = 60


@dataclass(frozen=True, slots=True)
class LockView:
    """The input lock as one client sees it."""

    own_id: str
    holder_id: str = ""
    holder: str = ""  # as text
    asking_id: str = ""  # the client that requests the lock from us; empty: none
    asking: str = ""
    answer_by: datetime | None = None
    waits: bool = False  # we are queued for the lock

    @property
    def is_ours(self) -> bool:
        return self.holder_id == self.own_id

    @property
    def is_held_elsewhere(self) -> bool:
        return bool(self.holder_id) and not self.is_ours


def lock_view(change: v1.InputLockChange, own_id: str) -> LockView:
    """Return what a change means for this client."""
    is_ours = change.holder_client_id == own_id
    asks_us = is_ours and bool(change.asking_client_id)
    return LockView(
        own_id=own_id,
        holder_id=change.holder_client_id,
        holder=called(change.holder_client_id, change.holder_client_type, change.holder_client_name, own_id),
        asking_id=change.asking_client_id if asks_us else "",
        asking=called(change.asking_client_id, change.asking_client_type, change.asking_client_name, own_id)
        if asks_us
        else "",
        answer_by=change.answer_by.ToDatetime(UTC) if asks_us and change.HasField("answer_by") else None,
        waits=own_id in change.waiting_client_ids,
    )


def lock_notice(before: LockView, now: LockView) -> str:
    """Return a notice about a change; empty if there is nothing to show."""
    if before.is_ours and now.is_held_elsewhere:
        return f"{one_line(now.holder, _NAME)} has the input lock now. Ctrl+L requests it back"
    if now.is_ours and before.waits:
        return "You have the input lock"
    if before.asking_id and not now.asking_id and now.is_ours:
        return "The request was withdrawn; you keep the input lock"
    return ""


class LockCard(Static, can_focus=True):
    """Shows a request for the input lock, which is granted without an answer."""

    class Answered(Message):
        """The person's answer to a request."""

        def __init__(self, asking_id: str, *, grant: bool) -> None:
            super().__init__()
            self.asking_id = asking_id
            self.grant = grant

    def __init__(self) -> None:
        super().__init__(id="lock", markup=False)
        self.display = False
        self._view = LockView("")

    def show(self, view: LockView, now: datetime) -> None:
        """Show the request and the remaining seconds."""
        self._view = view
        self.display = bool(view.asking_id)
        if not view.asking_id:
            return
        remaining = f" in {max(math.ceil((view.answer_by - now).total_seconds()), 0)} s" if view.answer_by else ""
        keys = "y: hand over · n: keep" if self.has_focus else "Ctrl+L: hand over · Tab, then n: keep"
        self.update(
            f"{one_line(view.asking, _NAME)} wants to type and gets the lock{remaining} unless you refuse.\n{keys}"
        )

    def on_key(self, event: events.Key) -> None:
        if event.key in ("y", "n") and self._view.asking_id:
            event.stop()
            self.post_message(self.Answered(self._view.asking_id, grant=event.key == "y"))
