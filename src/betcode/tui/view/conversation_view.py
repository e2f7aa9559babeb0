"""The scrollable widget that shows a conversation."""

from bisect import bisect_right
from typing import ClassVar

import anyio.to_thread
from rich.cells import cell_len
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip
from textual.widget import Widget

from betcode.tui.model.blocks import Block
from betcode.tui.model.conversation import ConversationModel
from betcode.tui.tasks import begin
from betcode.tui.view import markdown_lines, palette
from betcode.tui.view.block_lines import text_of_block
from betcode.tui.view.cursor import Cursor
from betcode.tui.view.layout import Layout
from betcode.tui.view.render_cache import RenderCache
from betcode.tui.view.spans import text_of
from betcode.wording.terminal_text import clean

_WHEEL = 3
_NEAR_THE_TOP = 2  # windows
_MOST_COPIED = 20_000  # lines
_OWN_LETTERS = frozenset({"o", "v", "y", "space", "question_mark"})


class ConversationView(ScrollView, can_focus=True):
    """Follows the end of the conversation while it is in view; otherwise keeps its position."""

    COMPONENT_CLASSES: ClassVar[set[str]] = palette.NAMES
    DEFAULT_CSS = (
        "ConversationView { overflow-x: hidden; overflow-y: scroll; scrollbar-size-vertical: 1; }\n" + palette.CSS
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "choose(-1)", show=False),
        Binding("down", "choose(1)", show=False),
        Binding("enter,space", "open_or_fold", show=False),
        Binding("o", "toggle_seen", show=False),
        Binding("y,ctrl+y", "copy_block", show=False),
        Binding("v", "see_whole", show=False),
    ]

    class WantsOlder(Message):
        """The beginning of the loaded part is near; `compacted`: load compacted events too."""

        def __init__(self, *, compacted: bool = False) -> None:
            super().__init__()
            self.compacted = compacted

    class WantsWhole(Message):
        """Show a block in full, including text that was too long for its event."""

        def __init__(self, block: Block) -> None:
            super().__init__()
            self.block = block

    def __init__(self, conversation: ConversationModel) -> None:
        super().__init__(id="conversation")
        self.draft: Widget | None = None  # typed text is sent there
        self._palette = palette.Palette(self._style_of)
        self._is_placing = self._is_stale = self._is_painting = self._is_loading = False
        self._requested_at = -1  # the beginning of the loaded part at the last request
        self._target = 0  # scroll to this event once it is loaded
        self._conversation = conversation
        self._drawings = RenderCache()
        self._layout_of = Layout(self._drawings)
        self._cursor = Cursor(self._layout_of, self._drawings)

    # ── public methods ──

    def blocks_changed(self) -> None:
        """Redraw soon after a change of the model; several calls cause one redraw."""
        if not self._is_stale:
            self._is_stale = True
            self.call_next(self._lay_out)

    def jump_to(self, sequence: int) -> None:
        """Scroll to the block of an event; older pages are requested until it is loaded."""
        self._target = sequence
        self.blocks_changed()

    @property
    def index_in_view(self) -> int:
        """The index of the selected block, or of the last visible one; -1: none."""
        found = self._cursor.selection() if self.has_focus else None
        seen = found or self._layout_of.at(min(self._layout_of.top + self._layout_of.height, self._layout_of.total) - 1)
        return seen[0] if seen else -1

    # ── drawing ──

    def _lay_out(self) -> None:
        self._is_stale = False
        window = self.scrollable_content_region.size  # without the scroll bar
        if not window:
            return
        layout = self._layout_of
        layout.resize(window.width, window.height)
        layout.take(self._conversation.blocks)
        if self._target:
            self._scroll_to_target()
        layout.settle()
        self._load_markdown()
        self._update_scroll()

    def _update_scroll(self) -> None:
        """Update Textual's scroll position and size without a layout, which does not depend on them."""
        layout = self._layout_of
        self._is_placing = True
        self.set_reactive(Widget.virtual_size, Size(layout.width, layout.total))
        self.vertical_scrollbar.window_virtual_size = layout.total
        self.scroll_target_y = self.scroll_y = layout.top
        self._is_placing = False
        self.refresh()
        self._ask_for_older()

    def _ask_for_older(self) -> None:
        layout, oldest = self._layout_of, self._conversation.oldest
        if layout.top > _NEAR_THE_TOP * layout.height:
            self._requested_at = -1
        elif self._requested_at != oldest and self._conversation.has_older:
            self._requested_at = oldest
            self.post_message(self.WantsOlder())

    def _scroll_to_target(self) -> None:
        blocks = self._layout_of.blocks
        index = bisect_right(blocks, self._target, key=lambda block: block.first) - 1
        is_loaded = self._conversation.oldest <= self._target or not self._conversation.has_older
        if index >= 0 and is_loaded:
            self._target = 0
            self._layout_of.show(index, 0, self._layout_of.height // 3)
            self._cursor.put(index, blocks[index].key)
        else:
            self._layout_of.go_to(0)

    async def _fetch_markdown(self) -> None:
        await anyio.to_thread.run_sync(markdown_lines.load, abandon_on_cancel=True)
        self._markdown_loaded()

    def _load_markdown(self) -> None:
        """Load the parser in the background; the first frame does not wait for it."""
        if self._drawings.is_plain and self._layout_of.blocks and not self._is_loading:
            if markdown_lines.is_loaded():
                self._markdown_loaded()
            else:
                self._is_loading = True
                begin(self, self._fetch_markdown)

    def _markdown_loaded(self) -> None:
        self._is_loading = False
        self._drawings.no_longer_plain()
        self.blocks_changed()

    def render_lines(self, crop: Region) -> list[Strip]:
        self._is_painting = True
        try:
            return super().render_lines(crop)
        finally:
            self._is_painting = False

    def render_line(self, y: int) -> Strip:
        """Render one line; for the mouse, with the offsets of its characters."""
        layout, width = self._layout_of, self._layout_of.width
        at = layout.top + y
        line, part = layout.line(at)
        strip = self._palette.strip(line, width)
        if part is not None and part.key == self._cursor.key and self.has_focus:
            strip = Strip.join([strip.crop(0, 1).apply_style(self._palette.style("cursor")), strip.crop(1)])
        if (selection := self.text_selection) and (span := selection.get_span(at)):
            strip = self._marked(strip, text_of(line), *span)
        if y == layout.height - 1 and (count := layout.new_lines):
            news = f" ↓ {count:,} new {'line' if count == 1 else 'lines'} "
            mark = self._palette.strip(((news, "news"),), min(len(news), width))
            strip = Strip.join([strip.crop(0, width - mark.cell_length), mark])
        return strip if self._is_painting else strip.apply_offsets(0, at)

    def _marked(self, strip: Strip, text: str, start: int, end: int) -> Strip:
        """Return the strip with the mouse selection."""
        first, last = cell_len(text[:start]), cell_len(text if end < 0 else text[:end])
        style = self.screen.get_component_rich_style("screen--selection")
        parts = [strip.crop(0, first), strip.crop(first, last).apply_style(style), strip.crop(last)]
        return Strip.join(parts)

    def _style_of(self, name: str) -> Style:
        return self.get_component_rich_style(palette.PREFIX + name, partial=True) if name else self.rich_style

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._palette.clear()

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """Return the text that is selected with the mouse."""
        start, end = selection
        first = start.y if start else 0
        last = min(end.y if end else self._layout_of.total - 1, first + _MOST_COPIED)
        texts = [text_of(self._layout_of.line(at)[0]) for at in range(first, last + 1)]
        spans = [selection.get_span(at) or (0, 0) for at in range(first, last + 1)]
        cut = [text[a:] if b < 0 else text[a:b] for text, (a, b) in zip(texts, spans, strict=True)]
        return "\n".join(line.rstrip() for line in cut), "\n"

    def selection_updated(self, selection: Selection | None) -> None:
        del selection  # `render_line` reads the selection
        self.refresh()

    # ── keys and mouse ──

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        layout = self._layout_of
        # Lines are not valid during a resize.
        is_resizing = self.scrollable_content_region.size != (layout.width, layout.height)
        if not self._is_placing and not is_resizing and round(new_value) != layout.top:
            layout.go_to(round(new_value))
            self.call_next(self._update_scroll)

    def scroll_lines(self, lines: int) -> None:
        """Scroll by this number of lines, also without the focus."""
        self._layout_of.move(lines)
        self._update_scroll()

    def action_page_up(self) -> None:
        self.scroll_lines(2 - self._layout_of.height)

    def action_page_down(self) -> None:
        self.scroll_lines(self._layout_of.height - 2)

    def action_scroll_home(self) -> None:
        was_there = not self._layout_of.top
        self._layout_of.go_to(0)
        self._update_scroll()
        if not self._conversation.compacted_before:
            return
        if was_there:
            self.post_message(self.WantsOlder(compacted=True))
        else:
            self.notify("Earlier messages were compacted; scroll up again to load them", markup=False)

    def action_scroll_end(self) -> None:
        self._layout_of.go_to_end()
        self._update_scroll()

    def action_choose(self, by: int) -> None:
        self._cursor.step(by)
        self._update_scroll()

    def action_open_or_fold(self) -> None:
        self._cursor.toggle()
        self._update_scroll()

    def action_toggle_seen(self) -> None:
        self._cursor.toggle_seen()
        self._update_scroll()

    def action_copy_block(self) -> None:
        found = self._cursor.selection()
        if found and found[1].block is not None:
            self.app.copy_to_clipboard(clean(text_of_block(found[1].block)))
            self.notify("Copied", timeout=2, markup=False)

    def action_see_whole(self) -> None:
        found = self._cursor.selection()
        if found and found[1].block is not None:
            self.post_message(self.WantsWhole(found[1].block))

    def _forward_event(self, event: events.Event) -> None:
        """Forward typed text to the draft before the next key is handled, so that the order is kept."""
        if self.draft is None or self.draft.disabled or not _is_writing(event):
            super()._forward_event(event)
        else:
            self.screen.set_focus(self.draft)
            self.draft._forward_event(event)

    def on_resize(self) -> None:
        self._lay_out()

    def on_focus(self) -> None:
        self.refresh()

    def on_blur(self) -> None:
        self.refresh()

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        self._wheel(event, _WHEEL)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        self._wheel(event, -_WHEEL)

    def _wheel(self, event: events.MouseEvent, lines: int) -> None:
        event.stop()
        event.prevent_default()  # Textual would scroll by its own line numbers, which are estimates
        self.scroll_lines(lines)

    def on_click(self, event: events.Click) -> None:
        if self.screen.get_selected_text():
            return
        layout = self._layout_of
        if event.y == layout.height - 1 and layout.new_lines:
            self.action_scroll_end()
            return
        found, part = layout.at(layout.top + event.y), layout.line(layout.top + event.y)[1]
        if found and part:
            self._cursor.put(found[0], part.key)
            self.action_open_or_fold()


def _is_writing(event: events.Event) -> bool:
    if isinstance(event, events.Key):
        return event.is_printable and event.key not in _OWN_LETTERS and "+" not in event.key
    return isinstance(event, events.Paste)
