"""The question whether to trust a project, on the screen: no letter answers it, so that typing ahead never trusts."""

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from betcode.wording.terminal_text import clean

_NO = "No: run without the project's settings"
_YES = "Yes: I trust this project"


class TrustQuestion(ModalScreen[bool]):
    """Yes by the arrow and Enter, or by the mouse. Enter alone and Escape are no."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss(False)", "no")]

    def __init__(self, lines: Sequence[str], question: str) -> None:
        super().__init__(id="trust")
        self._lines = lines
        self._question = question

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog"):
            with VerticalScroll():
                yield Static(clean("\n".join(self._lines)), markup=False)
            yield Static(clean(self._question), markup=False)
            yield OptionList(Option(_NO, id="no"), Option(_YES, id="yes"))
            yield Static("↑ ↓ Enter: choose · Esc: no · Tab: scroll the list", classes="hint", markup=False)

    def on_mount(self) -> None:
        self.query_one(OptionList).focus()

    def on_option_list_option_selected(self, message: OptionList.OptionSelected) -> None:
        self.dismiss(message.option_id == "yes")
