"""The list of completions above the draft."""

from collections.abc import Sequence

from rich.text import Text
from textual import events
from textual.message import Message
from textual.widget import Widget

from betcode.tui.composer.completion import Candidate
from betcode.wording.terminal_text import columns, one_line

_ROWS = 8


class CompletionList(Widget):
    """Controlled by keys of the draft, which keeps the focus; a click selects a line."""

    DEFAULT_CSS = """
    CompletionList { height: auto; max-height: 8; display: none; background: $surface; padding: 0 1; }
    CompletionList.-open { display: block; }
    """

    class Selected(Message):
        """The person clicked on a line."""

        def __init__(self, candidate: Candidate) -> None:
            super().__init__()
            self.candidate = candidate

    def __init__(self) -> None:
        super().__init__(id="completions")
        self.can_focus = False
        self._candidates: tuple[Candidate, ...] = ()
        self._at = 0

    @property
    def is_open(self) -> bool:
        return bool(self._candidates)

    @property
    def selected(self) -> Candidate | None:
        return self._candidates[self._at] if self._candidates else None

    def show(self, candidates: Sequence[Candidate]) -> None:
        """Show these candidates, the first one selected; an empty list closes it."""
        self._candidates = tuple(candidates)
        self._at = 0
        self.set_class(self.is_open, "-open")
        self.refresh(layout=True)

    def move(self, by: int) -> None:
        """Move the selection, around the ends."""
        if self._candidates:
            self._at = (self._at + by) % len(self._candidates)
            self.refresh()

    def on_click(self, event: events.Click) -> None:
        at = self._top + event.y
        if 0 <= event.y < _ROWS and at < len(self._candidates):
            event.stop()
            self.post_message(self.Selected(self._candidates[at]))

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        event.stop()
        self.move(1)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        event.stop()
        self.move(-1)

    def get_content_height(self, *_: object) -> int:
        return min(len(self._candidates), _ROWS)

    def render(self) -> Text:
        width = max(self.content_size.width, 10)
        whole = Text(no_wrap=True, end="")
        for number, one in enumerate(self._candidates[self._top : self._top + _ROWS], start=self._top):
            if number > self._top:
                whole.append("\n")
            mark = "▸ " if number == self._at else "  "
            shown = one_line(one.shown, width - 2)
            whole.append(mark + shown, style="bold" if number == self._at else "")
            available = width - 4 - columns(shown)
            if one.note and available > 8:
                whole.append(f"  {one_line(one.note, available)}", style="dim")
        return whole

    @property
    def _top(self) -> int:
        return max(0, min(self._at - _ROWS // 2, len(self._candidates) - _ROWS))
