"""A first turn on the screen."""

from pathlib import Path

import pytest

from support.daemon.process import running_daemon
from support.screens.screen import open_screen

pytestmark = pytest.mark.anyio


async def test_a_typed_message_is_answered_on_the_screen(tmp_path: Path) -> None:
    async with running_daemon(tmp_path) as daemon, open_screen(daemon) as screen:
        await screen.shows("connected · idle")
        await screen.type("hello")
        await screen.press("enter")
        await screen.shows("> hello", "──")
