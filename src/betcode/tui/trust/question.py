"""The dialog that asks whether to trust a project. No letter answers it, so typing ahead cannot trust."""

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.geometry import Region
from textual.screen import ModalScreen
from textual.strip import Strip
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from betcode.wording.terminal_text import clean

_NO = "No: run without the project's settings"
_YES = "Yes: I trust this project"


class _PaintedText(Static):
    """A text that records when it was first painted."""

    def __init__(self, text: str, *, markup: bool) -> None:
        super().__init__(text, markup=markup)
        self.is_painted = asyncio.Event()
        self.painted_at = 0.0

    def render_lines(self, crop: Region) -> list[Strip]:
        if not self.is_painted.is_set():
            self.painted_at = time.monotonic()
            self.is_painted.set()
        return super().render_lines(crop)


class TrustQuestion(ModalScreen[None]):
    """Yes needs an arrow and Enter, or the mouse. Enter alone and Escape mean no."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "decline", "no")]

    def __init__(self, lines: Sequence[str], question: str, on_answer: Callable[[], object]) -> None:
        super().__init__(id="trust")
        self.answer: bool | None = None  # None: not answered
        self.closed = asyncio.Event()
        self._lines = lines
        self._text = _PaintedText(clean(question), markup=False)
        self._on_answer = on_answer  # called before the question disappears

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog"):
            with VerticalScroll():
                yield Static(clean("\n".join(self._lines)), markup=False)
            yield self._text
            yield OptionList(Option(_NO, id="no"), Option(_YES, id="yes"))
            yield Static("↑ ↓ Enter: choose · Esc: no · Tab: scroll the list", classes="hint", markup=False)

    def on_mount(self) -> None:
        self.query_one(OptionList).focus()

    async def painted(self) -> float:
        """Wait until the question is visible; return since when."""
        await self._text.is_painted.wait()
        return self._text.painted_at

    def on_unmount(self) -> None:
        self.closed.set()

    def on_option_list_option_selected(self, message: OptionList.OptionSelected) -> None:
        self._answer(message.option_id == "yes")

    def action_decline(self) -> None:
        self._answer(False)

    def _answer(self, answer: bool) -> None:
        self.answer = answer
        self._on_answer()
        self.dismiss()
