"""The draft in the person's own editor, for which the screen makes room."""

import tempfile
from pathlib import Path

from textual.app import App, SuspendNotSupported

from betcode.tui.outside_editor import run_outside
from betcode.wording.editor import EditorFailed, NoEditor, editor_argv


class NotEdited(Exception):
    """The text is as it was; the message says why."""


def edited_outside(app: App[object], text: str, limit: int) -> str:
    """What the person made of the text. Nothing else is done meanwhile: the terminal is the editor's.

    Raises:
        NotEdited
    """
    try:
        argv = editor_argv()
        with tempfile.TemporaryDirectory(prefix="betcode-") as directory:
            file = Path(directory) / "message.md"
            file.write_text(text)
            run_outside(app, argv, file)
            if file.stat().st_size > limit:
                raise NotEdited("That is too long for a message: attach it as a file")
            return file.read_text(errors="replace").rstrip("\n")
    except NoEditor:
        raise NotEdited("Say which editor: set VISUAL or EDITOR") from None
    except SuspendNotSupported:
        raise NotEdited("There is no room for an editor here") from None
    except (EditorFailed, OSError) as trouble:
        raise NotEdited(str(trouble)) from None
