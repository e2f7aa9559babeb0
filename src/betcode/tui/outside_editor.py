"""The person's own editor, for which the screen makes room."""

from pathlib import Path
from typing import Any

from textual.app import App

from betcode.wording.editor import EditorFailed, run_editor


def run_outside(app: App[Any], argv: list[str], file: Path) -> None:
    """Nothing else is done meanwhile: the terminal is the editor's, and the screen's again afterwards, however it ends.

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
