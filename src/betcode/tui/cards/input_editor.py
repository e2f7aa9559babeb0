"""Edits a tool's input before the tool is allowed to run."""

import json

from textual import events
from textual.message import Message
from textual.widgets import TextArea

from betcode.v1 import agent_pb2 as v1
from betcode.wording.edited_input import InvalidEdit, checked_input, own_fields

_MAIN = {"Bash": "command", "Write": "content", "Edit": "new_string", "NotebookEdit": "new_source"}


class Draft:
    """The editable part of a tool's input, or all of it as JSON."""

    def __init__(self, request: v1.PermissionRequest) -> None:
        self._request = request
        try:
            self._own = own_fields(request)
        except InvalidEdit:
            self._own = {}
        name = _MAIN.get(request.tool_name, "command")
        self.field = name if isinstance(self._own.get(name), str) else ""

    @property
    def title(self) -> str:
        """The name of the edited part."""
        return self.field or "input (JSON)"

    @property
    def text(self) -> str:
        return str(self._own[self.field]) if self.field else self.whole("{}")

    def whole(self, text: str) -> str:
        """Return the input with this text, as indented JSON."""
        fields = {**self._own, self.field: text} if self.field else self._own
        return json.dumps(fields, ensure_ascii=False, indent=2)

    def checked(self, written: str | bytes) -> str:
        """Return the input as JSON, from text edited here or from a file with the whole input. Raises InvalidEdit."""
        if isinstance(written, str):
            return checked_input(self.whole(written) if self.field else written, self._request)
        try:
            return checked_input(written.decode(), self._request)
        except UnicodeError:
            raise InvalidEdit("The edited file is not text") from None


class InputEditor(TextArea):
    """Ctrl+S sends, and Enter does if the text is one line. Ctrl+E opens the person's own editor."""

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
