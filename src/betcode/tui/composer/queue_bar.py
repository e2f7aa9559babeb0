"""Shows sent messages that the agent has not started on; each can be withdrawn and edited."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

from rich.text import Text
from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widget import Widget

from betcode.tui.composer.outbox import UnsentMessage
from betcode.v1 import agent_pb2 as v1
from betcode.wording.terminal_text import columns, one_line

_SHOWN = 5  # the newest
_AFTER_S = 0.3  # a message that is sent within this time gets no line
_STATES = {
    v1.MESSAGE_STATE_ACCEPTED: "queued",
    v1.MESSAGE_STATE_DELIVERED: "queued for after this turn",
    v1.MESSAGE_STATE_UNKNOWN: "may have reached the agent",
}


class QueuedView(Protocol):
    """A message in the session's model."""

    @property
    def message_id(self) -> str: ...
    @property
    def text(self) -> str: ...
    @property
    def state(self) -> v1.MessageState.ValueType: ...
    @property
    def is_ours(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class QueueLine:
    message_id: str
    text: str
    state: str
    is_editable: bool


def queue_lines(
    queue: Sequence[QueuedView], unsent: Sequence[UnsentMessage] = (), *, is_down: bool = False
) -> tuple[QueueLine, ...]:
    """Return the lines: first messages that the daemon has, then unsent ones; each once."""
    known = {one.message_id for one in queue}
    stored = [
        # The agent may also return messages that it has queued; the daemon asks it to.
        QueueLine(one.message_id, one.text, _STATES[one.state], one.state != v1.MESSAGE_STATE_UNKNOWN)
        for one in queue
        if one.state in _STATES
    ]
    own = [
        QueueLine(
            one.message_id,
            one.text,
            "not sent yet: no connection" if is_down or one.was_tried else "not sent yet",
            is_editable=True,
        )
        for one in unsent
        if one.message_id not in known
    ]
    return (*stored, *own)


class QueueBar(Widget):
    """Above the composer; empty and hidden if no message waits."""

    DEFAULT_CSS = """
    QueueBar { height: auto; max-height: 5; display: none; color: $text-muted; padding: 0 1; }
    QueueBar.-filled { display: block; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "move(-1)", "older", show=False),
        Binding("down", "move(1)", "newer", show=False),
        Binding("enter,e", "edit", "edit the message"),
        Binding("escape", "leave", "back"),
    ]

    class Withdraw(Message):
        """Withdraw this message and edit it."""

        def __init__(self, message_id: str, text: str) -> None:
            super().__init__()
            self.message_id = message_id
            self.text = text

    class ReturnToDraft(Message):
        """The draft takes the keys again."""

    def __init__(self) -> None:
        super().__init__(id="queue")
        self.can_focus = False
        self._lines: tuple[QueueLine, ...] = ()
        self._selected = ""  # an id, because its line may move
        self._waiting: tuple[QueueLine, ...] = ()
        self._seen_at: dict[str, float] = {}

    def show(self, queue: Sequence[QueuedView], unsent: Sequence[UnsentMessage] = (), *, is_down: bool = False) -> None:
        """Show the waiting messages."""
        self._waiting = queue_lines(queue, unsent, is_down=is_down)
        now = time.monotonic()
        self._seen_at = {line.message_id: self._seen_at.get(line.message_id, now) for line in self._waiting}
        if now in self._seen_at.values() and self.is_attached:
            self.set_timer(_AFTER_S, self._show_lines)
        self._show_lines()

    def _show_lines(self) -> None:
        since = time.monotonic() - _AFTER_S
        lines = tuple(line for line in self._waiting if self._seen_at[line.message_id] <= since)[-_SHOWN:]
        if lines == self._lines:
            return
        self._lines = lines
        self.set_class(bool(lines), "-filled")
        if self._selected and self._selected not in self._editable():
            self.action_leave()
        self.refresh(layout=True)

    def select_last(self) -> bool:
        """Select the last editable message; return whether there is one."""
        editable = self._editable()
        if editable:
            self._selected = editable[-1]
            self.can_focus = True
            self.focus()
            self.refresh()
        return bool(editable)

    def action_move(self, by: int) -> None:
        editable = self._editable()
        at = editable.index(self._selected) + by if self._selected in editable else -1
        if at >= len(editable):
            self.action_leave()
        elif at >= 0:
            self._selected = editable[at]
            self.refresh()

    def action_edit(self) -> None:
        line = next((line for line in self._lines if line.message_id == self._selected), None)
        self.action_leave()
        if line is not None:
            self.post_message(self.Withdraw(line.message_id, line.text))

    def action_leave(self) -> None:
        self._selected = ""
        self.can_focus = False
        self.refresh()
        self.post_message(self.ReturnToDraft())

    def on_blur(self) -> None:
        self._selected = ""
        self.can_focus = False
        self.refresh()

    def on_click(self, event: events.Click) -> None:
        line = self._lines[event.y] if 0 <= event.y < len(self._lines) else None
        if line is not None and line.is_editable:
            event.stop()
            self.post_message(self.Withdraw(line.message_id, line.text))

    def get_content_height(self, *_: object) -> int:
        return len(self._lines)

    def render(self) -> Text:
        width = max(self.content_size.width, 10)
        whole = Text(no_wrap=True, end="")
        for number, line in enumerate(self._lines):
            if number:
                whole.append("\n")
            is_selected = line.message_id == self._selected
            state = "Enter: edit" if is_selected else line.state
            available = max(width - columns(state) - 3, 4)
            whole.append(f"{one_line(line.text, available) or '(files)'} · ", style="reverse" if is_selected else "")
            whole.append(one_line(state, width), style="bold" if is_selected else "dim")
        return whole

    def _editable(self) -> list[str]:
        return [line.message_id for line in self._lines if line.is_editable]
