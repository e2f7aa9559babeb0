"""The terminal is given to an editor and taken back."""

import asyncio
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio.lowlevel
import pytest
from textual.app import App

from betcode.tui.outside_editor import edited_outside, run_outside
from betcode.wording.edited_input import InvalidEdit
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


@pytest.mark.anyio
@pytest.mark.parametrize(("number", "told"), [(signal.SIGINT, []), (signal.SIGTERM, [signal.SIGTERM])])
async def test_ctrl_c_in_the_editor_is_the_editors_alone(tmp_path: Path, number: int, told: list[int]) -> None:
    heard: list[int] = []
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(number, heard.append, number)
    try:
        run_outside(Noted(), ["sh", "-c", f"kill -{number} $PPID"], tmp_path / "a")
        for _ in range(10):
            await anyio.lowlevel.checkpoint()
        assert heard == told
    finally:
        loop.remove_signal_handler(number)


def test_the_edited_text_is_returned_as_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", "sed -i s/old/new/")
    assert edited_outside(Noted(), "the old words\n", "message.md") == b"the new words\n"
    for editor, why in (("", "VISUAL or EDITOR"), ("rm", "Cannot write or read"), ("false", "ended with 1")):
        monkeypatch.setenv("EDITOR", editor)
        with pytest.raises(InvalidEdit, match=why):
            edited_outside(Noted(), "words", "message.md")
