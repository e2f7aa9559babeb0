"""Keys for the real process on a real terminal: all in one write, and before the screen has drawn anything."""

from collections.abc import Iterator

import pytest

from support.command import Shell, shell
from support.painted import painted
from support.typing_keys import as_bytes


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    with shell(tmp_path_factory.mktemp("shell")) as commands:
        assert commands.run("daemon", "start").returncode == 0
        yield commands


def test_what_is_typed_before_the_first_paint_is_sent_with_its_enter(here: Shell) -> None:
    with painted(here) as screen:
        screen.type("say typed ahead\rsay and\x7f\x7f\x7fmore\r")
        screen.shows("> say typed ahead")
        screen.shows("> say more")
        screen.type("\x11")
        assert screen.ended() == 0
        assert screen.is_restored


def test_a_burst_on_a_real_terminal_is_handled_in_order(here: Shell) -> None:
    with painted(here) as screen:
        screen.shows("connected")
        keys = ("say one two", "ctrl+w", "three", "ctrl+a", "ctrl+k", "say left", "left", "left", "X", "enter")
        screen.type(as_bytes(*keys))
        screen.shows("> say leXft")
        screen.type("\x11")
        assert screen.ended() == 0


def test_leaving_behind_a_message_sends_it_first(here: Shell) -> None:
    with painted(here) as screen:
        screen.type("say last words\r/quit\r")
        assert screen.ended() == 0
    with painted(here, "attach", here.json("session", "list", "--json")["sessions"][0]["id"]) as screen:
        screen.shows("> say last words")
        screen.type("\x11")
        assert screen.ended() == 0
