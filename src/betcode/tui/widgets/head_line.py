"""The header line: session name, machine, and the number of prompts in other sessions."""

from textual.content import Content
from textual.widgets import Static

from betcode.wording.terminal_text import columns, one_line


class HeadLine(Static):
    """On a narrow line the name is cut first."""

    def __init__(self) -> None:
        super().__init__(id="head", markup=False)
        self._last: tuple[str, str, int, int] = ("", "", 0, 0)

    def show(self, name: str, machine: str, waiting: int) -> None:
        """Update the line; `waiting` is the number of prompts in other sessions."""
        width = max(self.size.width, 1)
        now = (name, machine, waiting, width)
        if now == self._last:
            return
        self._last = now
        left, right = head_parts(name, machine, waiting, width)
        between = " " * max(width - columns(left) - columns(right), 1)
        self.update(Content.assemble((left, "bold"), between, (right, "$text-warning" if waiting else "$text-muted")))


def head_parts(name: str, machine: str, waiting: int, width: int) -> tuple[str, str]:
    """Return the left and the right part; on a narrow line the right one is only the number of prompts."""
    waits = f"{waiting} waiting elsewhere: Ctrl+O" if waiting else ""
    machine_text = one_line(machine, 30) if width >= 60 or not waits else ""
    right = " · ".join(filter(None, (waits, machine_text)))
    return one_line(name, max(width - columns(right) - 1, 8)), right
