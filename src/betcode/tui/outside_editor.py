"""Suspends the screen and runs the person's own editor."""

import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from textual.app import App, SuspendNotSupported

from betcode.wording.edited_input import InvalidEdit
from betcode.wording.editor import EditorFailed, NoEditor, editor_argv, run_editor


def edited_outside(app: App[Any], text: str, name: str) -> bytes:
    """Edit the text in a file of this name and return the result. The app is suspended meanwhile.

    Raises:
        InvalidEdit: there is no editor, it failed, or its file cannot be written.
    """
    try:
        argv = editor_argv()
        with tempfile.TemporaryDirectory(prefix="betcode-") as directory:
            file = Path(directory) / name
            file.write_text(text, encoding="utf-8", errors="surrogatepass")
            run_outside(app, argv, file)
            return file.read_bytes()
    except NoEditor:
        raise InvalidEdit("No editor is set: set VISUAL or EDITOR") from None
    except SuspendNotSupported:
        raise InvalidEdit("No editor can run in this terminal") from None
    except EditorFailed as failed:
        raise InvalidEdit(str(failed)) from None
    except OSError as trouble:
        raise InvalidEdit(f"Cannot write or read the editor's file: {trouble.strerror}") from trouble


def run_outside(app: App[Any], argv: list[str], file: Path) -> None:
    """Give the terminal to the editor, and always take it back.

    Raises:
        EditorFailed: the editor failed.
        SuspendNotSupported: the terminal cannot be given away here.
    """
    failure: EditorFailed | None = None
    with app.suspend(), _interrupts_are_the_editors():
        try:
            run_editor(argv, file)
        except EditorFailed as trouble:  # an exception out of this block would keep the screen suspended
            failure = trouble
    if failure is not None:
        raise failure


@contextmanager
def _interrupts_are_the_editors() -> Iterator[None]:
    """Leave Ctrl+C to the editor, and handle other signals afterwards."""
    heard: list[int] = []
    loop = signal.set_wakeup_fd(-1)  # the event loop would get the signal through it
    before = {
        number: signal.signal(number, lambda number, _frame: heard.append(number))
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(loop)
        for each in heard:
            if each != signal.SIGINT:
                signal.raise_signal(each)
