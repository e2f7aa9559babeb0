"""The daemon stops and restarts under the screen; two screens on one session."""

import os
import signal
from pathlib import Path

import pytest

from support.daemon.process import obedient_daemon
from support.screens.screen import open_screen

pytestmark = pytest.mark.anyio


async def test_a_restarted_daemon_costs_neither_draft_nor_scroll_position(tmp_path: Path) -> None:
    async with obedient_daemon(tmp_path) as daemon, open_screen(daemon, provider="claude") as screen:
        await screen.type("count 100")
        await screen.press("enter")
        await screen.shows("idle", "──")
        await screen.type("to be sent later")
        await screen.press("shift+tab")
        daemon.kill()
        await screen.shows("connection lost", "to be sent later")
        await daemon.start()
        await screen.shows("connected", "to be sent later")
        await screen.press("tab", "ctrl+c")
        await screen.hides("to be sent later")
        await screen.type("say welcome back")
        await screen.press("enter")
        await screen.shows("welcome back", "idle")


async def test_an_unsent_message_is_marked_and_sent_later(tmp_path: Path) -> None:
    async with obedient_daemon(tmp_path) as daemon, open_screen(daemon, provider="claude") as screen:
        await screen.shows("connected")
        daemon.kill()
        await screen.shows("connection lost")
        await screen.type("say precious")
        await screen.press("enter")
        await screen.shows("say precious", "not sent yet")
        await daemon.start()
        await screen.shows("> say precious", "idle", "──")


async def test_a_daemon_that_is_silent_is_not_called_connected(tmp_path: Path) -> None:
    quick = 0.5
    async with obedient_daemon(tmp_path) as daemon, open_screen(daemon, provider="claude", alive_s=quick) as screen:
        await screen.shows("connected")
        os.kill(daemon.pid, signal.SIGSTOP)
        await screen.shows("connection lost")
        await screen.type("say awake")
        await screen.press("enter")
        await screen.shows("say awake", "not sent yet")
        os.kill(daemon.pid, signal.SIGCONT)
        await screen.shows("> say awake", "connected", "idle", "──")


async def test_the_input_lock_is_requested_and_granted_between_two_screens(tmp_path: Path) -> None:
    async with obedient_daemon(tmp_path) as daemon, open_screen(daemon, provider="claude") as one:
        await one.type("say mine")
        await one.press("enter")
        await one.shows("mine", "idle")
        async with open_screen(daemon, one.app.session_id) as other:
            await other.shows("locked by", "mine")
            await other.type("say not yet")
            await other.press("enter")
            await other.notes_say("Ctrl+L requests it")
            await other.shows("say not yet")
            await other.press("ctrl+l")
            await one.shows("wants to type", "y: hand over")
            await one.press("y")
            await other.notes_say("You have the input lock")
            await other.shows("say not yet")
            await other.press("enter")
            await other.shows("not yet", "idle")
            await one.shows("> say not yet")
            await one.shows("locked by")
