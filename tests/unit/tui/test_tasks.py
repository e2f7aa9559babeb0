"""Tasks that fail."""

import pytest
from textual.app import App, ComposeResult
from textual.containers import Vertical
from textual.widgets import Static

from betcode.tui.tasks import TaskFailed, begin

pytestmark = pytest.mark.anyio


class Told(App[None]):
    def __init__(self) -> None:
        super().__init__()
        self.told: list[str] = []

    def compose(self) -> ComposeResult:
        with Vertical():
            yield Static()

    def on_task_failed(self, message: TaskFailed) -> None:
        self.told.append(str(message.error))


async def _fails(words: str) -> None:
    raise ValueError(words)


async def test_a_failed_task_is_reported_to_the_app_from_any_widget() -> None:
    app = Told()
    async with app.run_test() as pilot:
        for owner in (app.query_one(Static), app.screen, app):
            begin(owner, _fails, f"in {type(owner).__name__}")
            await app.workers.wait_for_complete()
            await pilot.pause()
        assert app.told == ["in Static", "in Screen", "in Told"]
        assert app.is_running
