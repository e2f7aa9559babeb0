"""The conversation on the screen."""

from rich.segment import Segment
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from betcode.tui.model.blocks import Block, Said, Told, ToolUse, TurnEnd, Words
from betcode.tui.model.conversation import Conversation
from betcode.wording.terminal_text import clean, wrapped


class ConversationView(ScrollView, can_focus=True):
    """Shows the end of it while somebody reads there, and stays where it is when they have scrolled up."""

    class WantsOlder(Message):
        """The beginning of what is loaded is near."""

    def __init__(self, conversation: Conversation) -> None:
        super().__init__(id="conversation")
        self._conversation = conversation
        self._lines: list[str] = []

    def show(self, conversation: Conversation) -> None:
        """Another session's."""
        self._conversation = conversation
        self.blocks_changed()
        self.scroll_end(animate=False)

    def blocks_changed(self) -> None:
        """The model has changed: drawn again in a moment, however often this is called until then."""
        follows = self.is_vertical_scroll_end
        width = max(self.size.width, 1)
        self._lines = [line for block in self._conversation.blocks for line in _lines(block, width)]
        self.virtual_size = Size(width, len(self._lines))
        if follows:
            self.scroll_end(animate=False)
        self.refresh()

    def on_resize(self) -> None:
        self.blocks_changed()

    def render_line(self, y: int) -> Strip:
        at = y + self.scroll_offset.y
        line = self._lines[at] if at < len(self._lines) else ""
        return Strip([Segment(line)]).adjust_cell_length(self.size.width)


def _lines(block: Block, width: int) -> list[str]:
    match block:
        case Said():
            return [f"> {line}" for line in wrapped(block.text, width - 2)] + [""]
        case Words():
            return [piece for line in clean(block.text).split("\n") for piece in wrapped(line, width) or [""]] + [""]
        case ToolUse():
            return [f"● {block.name} {block.telling} {block.state.name.lower()}"[:width]]
        case Told():
            return list(block.lines)
        case TurnEnd():
            return [f"── {block.summary}", ""]
        case _:
            return []
