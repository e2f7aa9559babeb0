"""The conversation alone on a headless screen: literal blocks in, text out, keys and the mouse in between."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import anyio
from textual.app import App, ComposeResult
from textual.pilot import Pilot

from betcode.tui.model.blocks import Block
from betcode.tui.model.conversation import ConversationModel
from betcode.tui.view.conversation_view import ConversationView
from betcode.tui.view.markdown_lines import load
from support.patience import PATIENCE_S


class ViewApp(App[None]):
    """Counts how often older events were asked for, and keeps what was copied."""

    CSS = "ConversationView { height: 1fr; }"

    def __init__(self, conversation: ConversationModel) -> None:
        super().__init__()
        self.view = ConversationView(conversation)
        self.wants_older = self.wants_compacted = 0
        self.copied: list[str] = []

    def compose(self) -> ComposeResult:
        yield self.view

    def on_conversation_view_wants_older(self, message: ConversationView.WantsOlder) -> None:
        self.wants_compacted += message.compacted
        self.wants_older += not message.compacted

    def copy_to_clipboard(self, text: str) -> None:
        self.copied.append(text)


class ShownView:
    """An open view."""

    def __init__(self, app: ViewApp, pilot: Pilot[None], conversation: ConversationModel) -> None:
        self.app = app
        self.view = app.view
        self.pilot = pilot
        self.conversation = conversation

    @property
    def lines(self) -> list[str]:
        """As they stand on the screen, without the bar and the spaces at their ends."""
        # Textual has no public way to its text; a screenshot is a picture.
        strips = self.app.screen._compositor.render_strips()
        return ["".join(segment.text for segment in strip)[:-1].rstrip() for strip in strips]

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    async def add(self, *blocks: Block) -> None:
        """At the end."""
        self.conversation.blocks.extend(blocks)
        await self.changed()

    async def changed(self) -> None:
        self.view.blocks_changed()
        await self.pilot.pause()

    async def shows(self, check: Callable[[str], bool]) -> str:
        """Wait, within a bound."""
        with anyio.move_on_after(PATIENCE_S):
            while not check(self.text):
                await self.pilot.pause(0.01)
            return self.text
        raise AssertionError(self.text)


def conversation_of(*blocks: Block) -> ConversationModel:
    """As if it had been taken from events."""
    conversation = ConversationModel()
    conversation.blocks.extend(blocks)
    return conversation


@asynccontextmanager
async def open_view(conversation: ConversationModel, size: tuple[int, int] = (60, 20)) -> AsyncIterator[ShownView]:
    """The view on these blocks, with the focus."""
    load()  # waiting for the parser is another matter
    app = ViewApp(conversation)
    async with app.run_test(size=size) as pilot:
        app.view.focus()
        await pilot.pause()
        yield ShownView(app, pilot, conversation)
