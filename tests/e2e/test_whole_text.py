"""Text that is too long for the conversation is shown in its own window."""

import json
from pathlib import Path

import pytest

from support.daemon.process import obedient_daemon
from support.screens.screen import open_screen

pytestmark = pytest.mark.anyio


async def test_text_that_was_too_long_for_its_event_is_fetched_and_shown_whole(tmp_path: Path) -> None:
    async with obedient_daemon(tmp_path) as daemon, open_screen(daemon, provider="claude", size=(60, 16)) as screen:
        await screen.shows("connected · idle")
        await screen.type("count 1 300000")
        await screen.press("enter")
        await screen.shows("kB in all: v shows it", "── ")
        await screen.press("tab")
        await screen.press("up", "up", "v")
        await screen.shows("Text of the agent", "Esc: close")
        await screen.press("end", "y")
        await screen.comes_to(lambda _: len(screen.app.clipboard) == 300_000, "to have copied all of it")
        await screen.press("escape")
        await screen.hides("Text of the agent")


async def test_the_middle_of_a_long_output_is_read_again(tmp_path: Path) -> None:
    async with obedient_daemon(tmp_path) as daemon, open_screen(daemon, provider="claude", size=(60, 16)) as screen:
        output = "." * 60_000 + "needle" + "." * 60_000
        result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": output}
        frame = {"type": "user", "message": {"role": "user", "content": [result]}, "parent_tool_use_id": None}
        (daemon.work / "lines").write_text(json.dumps(frame) + "\n")
        await screen.shows("connected · idle")
        await screen.type("play lines")
        await screen.press("enter")
        await screen.shows("✓", "── ")
        await screen.press("tab", "up", "up", "up", "v")
        await screen.shows("Esc: close")
        await screen.press("y")
        await screen.comes_to(lambda _: screen.app.clipboard == output, "to have copied all of it")
