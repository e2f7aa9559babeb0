"""The place to write in."""

from collections.abc import Sequence

from textual import events
from textual.message import Message
from textual.widgets import TextArea

from betcode.domain.commands import AttachedFile


class Composer(TextArea):
    """Enter sends, Shift+Enter or Ctrl+J begins a line."""

    class Submitted(Message):
        """A message that is to be sent; the screen does it, and gives it back where it is refused."""

        def __init__(self, text: str, attachments: Sequence[AttachedFile] = ()) -> None:
            super().__init__()
            self.text = text
            self.attachments = tuple(attachments)

    def __init__(self) -> None:
        super().__init__(id="composer", show_line_numbers=False)

    def show_session(self, session_id: str, directory: str) -> None:
        """Whose draft is written here from now on."""

    def give_back(self, text: str) -> None:
        """What was not sent, before what was written since."""
        self.text = "\n".join(filter(None, (text, self.text)))

    async def _on_key(self, event: events.Key) -> None:
        if event.key == "enter":
            event.prevent_default()
            event.stop()
            text, self.text = self.text, ""
            if text.strip():
                self.post_message(self.Submitted(text))
        elif event.key in ("ctrl+j", "shift+enter"):
            event.prevent_default()
            event.stop()
            self.insert("\n")
        else:
            await super()._on_key(event)
