"""The person's own editor, for which the screen makes room."""

import tempfile
from pathlib import Path
from typing import Any

from textual.app import App, SuspendNotSupported

from betcode.wording.edited_input import NotEdited
from betcode.wording.editor import EditorFailed, NoEditor, editor_argv, run_editor


def edited_outside(app: App[Any], text: str, name: str) -> bytes:
    """What the editor made of the text, in a file of this name. Nothing else is done meanwhile.

    Raises:
        NotEdited: there is none, it failed, or there is no place for its file.
    """
    try:
        argv = editor_argv()
        with tempfile.TemporaryDirectory(prefix="betcode-") as directory:
            file = Path(directory) / name
            file.write_text(text, encoding="utf-8", errors="surrogatepass")
            run_outside(app, argv, file)
            return file.read_bytes()
    except NoEditor:
        raise NotEdited("Say which editor: set VISUAL or EDITOR") from None
    except SuspendNotSupported:
        raise NotEdited("There is no room for an editor here") from None
    except EditorFailed as failed:
        raise NotEdited(str(failed)) from None
    except OSError as trouble:
        raise NotEdited(f"The editor's file cannot be written or read: {trouble.strerror}") from trouble


def run_outside(app: App[Any], argv: list[str], file: Path) -> None:
    """The terminal is the editor's, and the screen's again afterwards, however it ends.

    Raises:
        EditorFailed: it did not come to an end as it should.
        SuspendNotSupported: there is no room here.
    """
    failure: EditorFailed | None = None
    with app.suspend():
        try:
            run_editor(argv, file)
        except EditorFailed as trouble:  # leaving the block with it, the screen would not come back
            failure = trouble
    if failure is not None:
        raise failure
