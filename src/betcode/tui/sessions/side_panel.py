"""The side panel of a wide screen: numbered sessions, todo list and plan."""

from datetime import UTC, datetime

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from betcode.tui.model.session_status import SessionStatusModel
from betcode.tui.sessions.directory import SessionDirectory, waits_for_person
from betcode.tui.sessions.rows import row
from betcode.tui.widgets.panels import PlanPanel, TodoPanel

_NUMBERS = range(1, 10)


class SidePanel(Vertical):
    """Redrawn only after a change."""

    def __init__(self) -> None:
        super().__init__(id="side")
        self._last: tuple[int, str, int] = (-1, "", 0)

    def compose(self) -> ComposeResult:
        yield Static(id="side-sessions", markup=False)
        yield TodoPanel()
        yield PlanPanel()

    def show(self, directory: SessionDirectory, current: str, session_status: SessionStatusModel) -> None:
        """Show the numbered sessions, and the state of the current one."""
        self.query_one(TodoPanel).show(session_status.todos)
        self.query_one(PlanPanel).show(session_status.plan)
        width = max(self.size.width - 2, 10)
        now = (directory.revision, current, width)
        if now == self._last:
            return
        self._last = now
        lines = [Content.styled("Sessions · Alt+1…9", "bold")]
        for number in _NUMBERS:
            one = directory.known(directory.numbers.session(number))
            if one is not None:
                style = "reverse" if one.id == current else "$text-warning" if waits_for_person(one) else ""
                lines.append(Content.styled(row(one, number, datetime.now(UTC), width), style))
        self.query_one("#side-sessions", Static).update(Content("\n").join(lines))
