"""The inbox: all open prompts of all sessions, answered on one screen."""

import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.messages import Prune
from textual.screen import ModalScreen
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from betcode.client import LinkState
from betcode.tui.cards.card import Card, CardContext
from betcode.tui.cards.texts import how_it_ended
from betcode.tui.pending_board import BoardChanged, News, PendingBoard, PromptClosed, PromptOpened
from betcode.v1 import agent_pb2 as v1
from betcode.wording.ids import short_id
from betcode.wording.pending import tool_of, what_of
from betcode.wording.terminal_text import columns, ending, one_line, padded
from betcode.wording.times import nearly, span

_HINTS = "Enter: open · Tab: card · Esc: back"
_OF_THE_LIST = frozenset({"up", "down", "home", "end", "pageup", "pagedown", "enter", "tab", "shift+tab", "escape"})
_MEDIUM, _WIDE = 80, 120


class Inbox(ModalScreen[str]):
    """Returns the id of the session to open, or an empty text."""

    DEFAULT_CSS = """
    Inbox { layout: vertical; background: $background; }
    Inbox > #inbox-title { height: 1; text-style: bold; }
    Inbox > #inbox-list { height: 1fr; min-height: 2; border: none; padding: 0; }
    Inbox > #inbox-notice { height: auto; color: $text-warning; }
    Inbox > #inbox-keys { height: 1; color: $text-muted; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "close", "back")]

    def __init__(
        self,
        board: PendingBoard,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(id="inbox")
        self._board = board
        self._clock = clock
        self._open: Sequence[v1.PendingPrompt] = ()
        self._rows: list[str] = []
        self._stop_listening: Callable[[], None] | None = None

    def compose(self) -> ComposeResult:
        yield Static(id="inbox-title", markup=False)
        yield OptionList(id="inbox-list", markup=False)
        yield Static(id="inbox-notice", markup=False)
        yield Card(reads_files=self._board.is_local, clock=self._clock)
        yield Static(_HINTS, id="inbox-keys", markup=False)

    def on_mount(self) -> None:
        self._stop_listening = self._board.listen(self._board_changed)
        self.set_interval(1.0, self._times_changed)
        self._list.focus()
        self._show()

    async def on_prune(self, _event: Prune) -> None:
        """Stop listening: the children of a removed widget end before it is unmounted."""
        if self._stop_listening is not None:
            self._stop_listening()
            self._stop_listening = None

    def on_resize(self) -> None:
        self._show()

    def action_close(self) -> None:
        if self._card.is_at_rest:
            self.dismiss("")
        else:
            self._card.press("escape")

    @property
    def _list(self) -> OptionList:
        return self.query_one(OptionList)

    @property
    def _card(self) -> Card:
        return self.query_one(Card)

    def _board_changed(self, news: News) -> None:
        match news:
            case PromptClosed(prompt, told, by_us) if not by_us:
                words = how_it_ended(prompt, told)
                if prompt.request_id == self._card.request_id and self._card.is_typing:
                    self._card.end(words)
                else:
                    self.query_one("#inbox-notice", Static).update(words)
            case PromptOpened() | PromptClosed() | BoardChanged():
                pass
        self._show()

    def _show(self) -> None:
        """Update the list with the same prompt selected, or the next one if that is closed."""
        chosen, position = self._card.request_id, self._list.highlighted or 0
        self._open = self._board.all
        self.query_one("#inbox-title", Static).update(_title(len(self._open)))
        ids = [each.request_id for each in self._open]
        rows = self._rows_now()
        if rows != self._rows or ids != [option.id for option in self._list.options]:
            self._rows = rows
            self._list.set_options(Option(Content(row), id=each) for row, each in zip(rows, ids, strict=True))
            if ids:
                self._list.highlighted = ids.index(chosen) if chosen in ids else min(position, len(ids) - 1)
        self._show_card()

    def _rows_now(self) -> list[str]:
        now = datetime.now(UTC)
        return [inbox_row(each, max(self.size.width - 2, 20), now) for each in self._open]

    def _show_card(self) -> None:
        card = self._card
        card.display = bool(self._open) or card.is_over
        position = self._list.highlighted
        if card.is_over:
            return
        if not self._open or position is None:
            if card.has_focus_within:
                self._list.focus()
            return
        one = self._open[min(position, len(self._open) - 1)]
        link = self._board.link
        card.show(
            one,
            CardContext(
                position=f"{position + 1} of {len(self._open)}",
                where=f"{one.session_name or short_id(one.session_id)} · {one.working_directory}",
                delivery=self._board.delivery(one.request_id),
                failure=self._board.failure(one.request_id),
                is_link_broken=link is not None and link.state is LinkState.BROKEN,
            ),
        )

    def _times_changed(self) -> None:
        rows = self._rows_now()
        for each, row, before in zip(self._open, rows, self._rows, strict=True):
            if row != before:
                self._list.replace_option_prompt(each.request_id, Content(row))
        self._rows = rows
        self._card.times_changed()

    def on_key(self, event: events.Key) -> None:
        """Send answer keys to the card, also while the list has the focus; arrow keys move in the list."""
        if self.focused is self._list and event.key not in _OF_THE_LIST and self._card.press(event.key):
            event.stop()
            event.prevent_default()

    def on_option_list_option_highlighted(self, message: OptionList.OptionHighlighted) -> None:
        message.stop()
        if not self._card.is_typing:
            self._show_card()

    def on_option_list_option_selected(self, message: OptionList.OptionSelected) -> None:
        message.stop()
        if message.option_index < len(self._open):
            self.dismiss(self._open[message.option_index].session_id)

    def on_card_answered(self, message: Card.Answered) -> None:
        message.stop()
        self.query_one("#inbox-notice", Static).update("")
        self._board.answer(message.prompt, message.given)

    def on_card_stepped(self, message: Card.Stepped) -> None:
        message.stop()
        if self._open:
            self._list.highlighted = ((self._list.highlighted or 0) + message.by) % len(self._open)

    def on_card_return_to_draft(self, message: Card.ReturnToDraft) -> None:
        message.stop()
        self._list.focus()

    def on_card_dismissed(self, message: Card.Dismissed) -> None:
        message.stop()
        self._list.focus()
        self._show()


def _title(count: int) -> str:
    if not count:
        return "No pending prompts"
    return f"{count} pending {'prompt' if count == 1 else 'prompts'}"


def inbox_row(one: v1.PendingPrompt, width: int, now: datetime) -> str:
    """Return one prompt on one line: its age, session and subject; more on a wide screen."""
    asked = padded(span(now - one.asked_at.ToDatetime(UTC)), 7)
    name_width = 12 if width < _MEDIUM else 20
    name = padded(one_line(one.session_name or short_id(one.session_id), name_width), name_width)
    parts = [asked, name]
    if width >= _WIDE:
        parts.append(padded(ending(one_line(one.working_directory, 400), 30), 30))
    if width >= _MEDIUM:
        remaining = one.expires_at.ToDatetime(UTC) - now if one.HasField("expires_at") else timedelta()
        parts.append(padded(f"in {nearly(remaining)}" if remaining > timedelta() else "", 9))
    parts.append(f"{tool_of(one)} {what_of(one)}")
    return one_line_of(parts, width)


def one_line_of(parts: Sequence[str], width: int) -> str:
    """Join columns on one line; the last one is cut to fit."""
    *before, last = parts
    head = " ".join(before) + " "
    return head + one_line(last, max(width - columns(head), 8))
