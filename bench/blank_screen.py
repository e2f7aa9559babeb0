"""A Textual program with a place to write in and nothing else: what a screen costs before it shows anything."""

from textual.app import App, ComposeResult
from textual.widgets import TextArea


class BlankScreen(App[None]):
    ENABLE_COMMAND_PALETTE = False

    def compose(self) -> ComposeResult:
        yield TextArea()


if __name__ == "__main__":
    BlankScreen().run()
