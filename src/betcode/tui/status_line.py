"""The line at the foot of the screen: how the session stands, and whether what is shown is of now."""

from textual.widgets import Static

from betcode.client import Link, LinkState
from betcode.tui.model.standing import Standing


class StatusLine(Static):
    def __init__(self) -> None:
        super().__init__(id="status", markup=False)

    def show(self, standing: Standing, link: Link | None) -> None:
        """Both as they are now."""
        if link is None:
            connection = "connecting"
        elif link.state is LinkState.CONNECTED:
            connection = "connected"
        else:
            connection = f"connection lost, trying again in {link.retry_in_s:.0f} s"
        work = "at work" if standing.is_at_work else "idle"
        self.update(f"{connection} · {work} · {standing.model or standing.provider} · ${standing.cost_usd:.2f}")
