"""Another input for a tool, written before it is allowed to run."""

import json
import tempfile
from pathlib import Path
from typing import Any

from textual import events
from textual.app import App, SuspendNotSupported
from textual.message import Message
from textual.widgets import TextArea

from betcode.tui.outside_editor import run_outside
from betcode.v1 import agent_pb2 as v1
from betcode.wording.edited_input import NotEdited, checked_input, own_fields
from betcode.wording.editor import EditorFailed, NoEditor, editor_argv

_MAIN = {"Bash": "command", "Write": "content", "Edit": "new_string", "NotebookEdit": "new_source"}


class Draft:
    """The part of a tool's input that people want to change, or all of it as JSON."""

    def __init__(self, request: v1.PermissionRequest) -> None:
        self._request = request
        try:
            self._own = own_fields(request)
        except NotEdited:
            self._own = {}
        name = _MAIN.get(request.tool_name, "command")
        self.field = name if isinstance(self._own.get(name), str) else ""

    @property
    def title(self) -> str:
        """What is edited."""
        return self.field or "input (JSON)"

    @property
    def text(self) -> str:
        return str(self._own[self.field]) if self.field else self.whole("{}")

    def whole(self, text: str) -> str:
        """The input with this text, as JSON that people can read."""
        fields = {**self._own, self.field: text} if self.field else self._own
        return json.dumps(fields, ensure_ascii=False, indent=2)

    def checked(self, text: str) -> str:
        """The input as JSON. Raises NotEdited."""
        return checked_input(self.whole(text) if self.field else text, self._request)

    def checked_whole(self, text: str) -> str:
        """The same of a text that is all of it. Raises NotEdited."""
        return checked_input(text, self._request)


class InputEditor(TextArea):
    """Ctrl+S sends, and so does Enter where the text is one line; Ctrl+E hands it to the person's own editor."""

    class Written(Message):
        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class WantsEditor(Message):
        pass

    def __init__(self, text: str) -> None:
        super().__init__(text, show_line_numbers=False, soft_wrap=True)
        self._is_one_line = "\n" not in text
        if self._is_one_line:
            self.move_cursor(self.document.end)

    async def _on_key(self, event: events.Key) -> None:
        is_end = event.key == "ctrl+s" or (event.key == "enter" and self._is_one_line and "\n" not in self.text)
        if is_end or event.key == "ctrl+e":
            event.stop()
            event.prevent_default()
            self.post_message(self.Written(self.text) if is_end else self.WantsEditor())
        elif event.key in ("ctrl+j", "shift+enter", "alt+enter"):
            event.stop()
            event.prevent_default()
            self.insert("\n")
        else:
            await super()._on_key(event)


def edited_outside(app: App[Any], shown: str) -> str:
    """What the person's own editor made of it. Nothing else is done meanwhile: the terminal is the editor's.

    Raises:
        NotEdited: there is none, it failed, or what it left cannot be read.
    """
    try:
        argv = editor_argv()
        with tempfile.TemporaryDirectory(prefix="betcode-") as directory:
            path = Path(directory) / "input.json"
            path.write_text(shown + "\n", encoding="utf-8", errors="surrogatepass")
            run_outside(app, argv, path)
            return path.read_text(encoding="utf-8")
    except NoEditor:
        raise NotEdited("No editor is set (EDITOR)") from None
    except SuspendNotSupported:
        raise NotEdited("There is no room for an editor here") from None
    except EditorFailed as failed:
        raise NotEdited(str(failed)) from None
    except (OSError, UnicodeError) as trouble:
        raise NotEdited("What the editor left cannot be read") from trouble
