"""The key sequences of terminals for a new line."""

import pytest
from textual import events
from textual._xterm_parser import XTermParser

from betcode.tui.composer.terminal_keys import NEW_LINE, learn_keys


@pytest.mark.parametrize("sent", ["\n", "\x1b\r", "\x1b[13;2u", "\x1b[13;3u", "\x1b[27;2;13~", "\x1b[27;5;13~"])
def test_every_way_of_beginning_a_line_is_known(sent: str) -> None:
    learn_keys()
    (key,) = [token for token in XTermParser(False).feed(sent) if isinstance(token, events.Key)]
    assert key.key in NEW_LINE


def test_enter_alone_is_none_of_them() -> None:
    learn_keys()
    (key,) = [token for token in XTermParser(False).feed("\r") if isinstance(token, events.Key)]
    assert key.key == "enter"


def test_alt_and_a_digit_is_no_letter() -> None:
    learn_keys()
    events_of = XTermParser(False)._sequence_to_key_events
    assert not [key for digit in range(1, 10) for key in events_of(f"\x1b{digit}")]  # so that it is taken apart
    assert [key.key for key in events_of("1", alt=True)] == ["alt+1"]
