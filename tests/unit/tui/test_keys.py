"""The table of keys, and what is generated from it."""

from textual.binding import Binding

from betcode.tui import keys
from betcode.tui.app import BetcodeApp
from betcode.tui.composer.completion import OWN_COMMANDS
from betcode.tui.session_screen import SessionScreen
from betcode.tui.sessions.list import SessionList
from betcode.tui.sessions.session_actions import SessionActions
from betcode.tui.widgets.help import help_lines
from betcode.wording.terminal_text import columns


def test_the_help_fits_forty_columns_and_tells_every_key() -> None:
    lines = [line for line, _ in help_lines()]
    assert max(map(columns, lines)) <= 34
    whole = "\n".join(lines)
    assert all(keys.shown(key) in whole for each in keys.KEYS.values() for key in each)


def test_keys_are_shown_as_they_stand_on_a_keyboard() -> None:
    shown = [keys.shown(keys.Key(each, "")) for each in ("f1", "ctrl+s", "alt+left", "question_mark", "y", "up,down")]
    assert shown == ["F1", "Ctrl+S", "Alt+←", "?", "y", "↑ ↓"]


def test_no_key_has_two_meanings_in_one_context() -> None:
    for each in keys.KEYS.values():
        names = [name for key in each for name in key.keys.split(",")]
        assert len(names) == len(set(names))


def test_every_key_of_the_table_does_something() -> None:
    for place, screen in (
        (keys.KeyContext.APP, BetcodeApp),
        (keys.KeyContext.SESSION, SessionScreen),
        (keys.KeyContext.SESSIONS, SessionList),
    ):
        for binding in keys.bindings(place):
            assert isinstance(binding, Binding)
            action = binding.action.partition("(")[0]
            owner = BetcodeApp if action.startswith("app.") else screen
            assert hasattr(owner, f"action_{action.removeprefix('app.')}"), binding


def test_every_command_that_is_offered_does_something() -> None:
    offered = {command.name for command in OWN_COMMANDS}
    assert offered >= keys.COMMANDS.keys()
    for name, action in keys.COMMANDS.items():
        owner = BetcodeApp if action.startswith("app.") else SessionScreen
        assert hasattr(owner, f"action_{action.partition('.')[2]}"), name
    for name in offered - keys.COMMANDS.keys() - {"attach"}:  # which is of the draft itself
        assert hasattr(SessionActions, f"_{name}"), name
