"""Shows the attachments of a message, one line each."""

from collections.abc import Sequence

from rich.text import Text
from textual import events
from textual.message import Message
from textual.widget import Widget

from betcode.tui.composer.pieces import Attachment, pasted_number
from betcode.wording.sizes import readable
from betcode.wording.terminal_text import one_line

_ROWS = 5
_REMOVE = " ✕"


def chip_label(attachment: Attachment) -> str:
    """Return the label of an attachment: lines for a pasted text, name and size for a file."""
    if attachment.is_pasted_text:
        unit = "line" if attachment.lines == 1 else "lines"
        return f"pasted text {pasted_number(attachment.file)}: {attachment.lines} {unit}"
    return f"{attachment.file.filename}: {readable(len(attachment.file.data))}"


class ChipBar(Widget):
    """A click on the name inserts the text, a click on the cross removes the attachment."""

    DEFAULT_CSS = """
    ChipBar { height: auto; max-height: 5; display: none; padding: 0 1; }
    ChipBar.-filled { display: block; }
    """

    class Expand(Message):
        """Insert the attachment into the text instead."""

        def __init__(self, index: int) -> None:
            super().__init__()
            self.index = index

    class Remove(Message):
        def __init__(self, index: int) -> None:
            super().__init__()
            self.index = index

    def __init__(self) -> None:
        super().__init__(id="attached")
        self.can_focus = False
        self._attachments: tuple[Attachment, ...] = ()

    def show(self, attachments: Sequence[Attachment]) -> None:
        """Show these attachments."""
        self._attachments = tuple(attachments)
        self.set_class(bool(attachments), "-filled")
        self.refresh(layout=True)

    def on_click(self, event: events.Click) -> None:
        index = event.y + self._first
        if not 0 <= index < len(self._attachments):
            return
        event.stop()
        # The coordinates of an event include the padding.
        column, words = event.x - 1, self._label(index)
        has_instead = bool(self._attachments[index].instead)
        is_name = column < len(words) - len(_REMOVE) - 1
        self.post_message(self.Expand(index) if is_name and has_instead else self.Remove(index))

    def get_content_height(self, *_: object) -> int:
        return min(len(self._attachments), _ROWS)

    def render(self) -> Text:
        shown = range(self._first, len(self._attachments))
        return Text("\n".join(map(self._label, shown)), no_wrap=True, end="", style="italic")

    @property
    def _first(self) -> int:
        return max(0, len(self._attachments) - _ROWS)

    def _label(self, index: int) -> str:
        words = chip_label(self._attachments[index])
        return f"[{one_line(words, max(self.content_size.width - 4, 8))}{_REMOVE}]"
