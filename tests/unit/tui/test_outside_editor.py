"""The terminal is handed to an editor and comes back."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from textual.app import App

from betcode.tui.outside_editor import run_outside
from betcode.wording.editor import EditorFailed


class Noted(App[None]):
    """Notes who has the terminal; an error inside the block keeps it from coming back, as Textual's own does."""

    def __init__(self) -> None:
        super().__init__()
        self.noted: list[str] = []

    @contextmanager
    def suspend(self) -> Iterator[None]:
        self.noted.append("given")
        yield
        self.noted.append("back")


@pytest.mark.parametrize(("program", "fails"), [("true", False), ("false", True), ("/nowhere/vi", True)])
def test_the_screen_comes_back_however_the_editor_ended(tmp_path: Path, program: str, *, fails: bool) -> None:
    app = Noted()
    try:
        run_outside(app, [program], tmp_path / "a")
    except EditorFailed:
        assert fails
    assert app.noted == ["given", "back"]
