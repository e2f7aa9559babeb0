"""Full-text search in all sessions, while the person types."""

from datetime import UTC
from typing import ClassVar

import anyio
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from betcode.client import Client, ClientError
from betcode.tui.tasks import begin
from betcode.v1 import agent_pb2 as v1
from betcode.wording.ids import short_id
from betcode.wording.terminal_text import one_line

_REST_S = 0.2  # wait for a pause in typing before searching
_HITS = 50
_AROUND = 8

Hit = tuple[str, int]


class SearchScreen(ModalScreen[Hit | None]):
    """Returns the session and the event of the selected hit."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss(None)", "back")]

    def __init__(self, client: Client) -> None:
        super().__init__()
        self._client = client
        self._hits: tuple[v1.SearchHit, ...] = ()
        self._found_for = ""  # the query of the shown hits
        self._opens_first = False  # Enter was pressed before the hits arrived

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog tall"):
            yield Static("Search in all sessions", classes="title", id="found", markup=False)
            yield Input(placeholder='words, or "a phrase"')
            yield OptionList()
            yield Static("↑ ↓ Enter: open there · Esc: back", classes="hint", markup=False)

    def on_input_changed(self, message: Input.Changed) -> None:
        self._opens_first = False
        begin(self, self._search, message.value, exclusive=True)

    async def _search(self, text: str) -> None:
        await anyio.sleep(_REST_S)
        query = search_query(text)
        try:
            found = await self._client.search(query, limit=_HITS) if query else v1.SearchSessionsResponse()
        except ClientError as error:
            self._show_title(error.message)
            return
        self._hits, self._found_for = tuple(found.hits), text
        width = max(self.size.width - _AROUND, 20)
        options = self.query_one(OptionList)
        options.clear_options()
        options.add_options(Option(Content("\n".join(hit_lines(hit, width)))) for hit in self._hits)
        if self._hits:
            options.highlighted = 0
        if not query:
            self._show_title("Search in all sessions")
        else:
            later = " · indexing is not complete" if found.incomplete else ""
            self._show_title(f"{found.total} found{later}" if self._hits else f"No matches{later}")
        if self._opens_first:
            self._open(0)

    def _show_title(self, words: str) -> None:
        self.query_one("#found", Static).update(one_line(words, max(self.size.width - _AROUND, 20)))

    def on_key(self, event: events.Key) -> None:
        options = self.query_one(OptionList)
        if isinstance(self.focused, Input) and event.key in ("up", "down"):
            event.stop()
            options.action_cursor_up() if event.key == "up" else options.action_cursor_down()

    def on_input_submitted(self, message: Input.Submitted) -> None:
        if message.value == self._found_for:
            self._open(self.query_one(OptionList).highlighted)
        else:
            self._opens_first = True  # the shown hits are for an older query

    def on_option_list_option_selected(self, message: OptionList.OptionSelected) -> None:
        self._open(message.option_index)

    def _open(self, index: int | None) -> None:
        if index is not None and index < len(self._hits):
            self.dismiss((self._hits[index].session_id, self._hits[index].sequence))


def search_query(text: str) -> str:
    """Return the query; its last word matches as a prefix while it is typed."""
    stripped = text.strip()
    is_word = bool(stripped) and stripped[-1].isalnum() and text == text.rstrip() and stripped.count('"') % 2 == 0
    return f"{stripped}*" if is_word else stripped + ('"' if stripped.count('"') % 2 else "")


def hit_lines(hit: v1.SearchHit, width: int) -> list[str]:
    """Return the author, session and time of a hit, and its text below."""
    at = hit.timestamp.ToDatetime(UTC).astimezone()
    where = hit.session_name or short_id(hit.session_id)
    return [one_line(f"{hit.speaker} · {at:%Y-%m-%d %H:%M} · {where}", width), "  " + one_line(hit.excerpt, width - 2)]
