"""Keys as the bytes of a terminal, parsed as the real driver parses them."""

from typing import Any

from textual import events
from textual._xterm_parser import XTermParser
from textual.app import App

BYTES = {
    "enter": "\r",
    "tab": "\t",
    "backspace": "\x7f",
    "delete": "\x1b[3~",
    "left": "\x1b[D",
    "right": "\x1b[C",
    "up": "\x1b[A",
    "down": "\x1b[B",
    "home": "\x1b[H",
    "end": "\x1b[F",
    "space": " ",
    "escape": "\x1b[27u",
    "alt+enter": "\x1b[13;3u",
    "alt+z": "\x1b[122;3u",
} | {f"ctrl+{letter}": chr(ord(letter) - 96) for letter in "abcdefghjklnopqrstuvwxyz"}


def as_bytes(*keys: str) -> str:
    """What a terminal sends for these keys."""
    return "".join(BYTES.get(key, key) for key in keys)


def parsed(text: str) -> list[events.Event]:
    """The input events of one read of this text."""
    parser = XTermParser()
    found = [*parser.feed(text), *parser.tick()]
    return [event for event in found if isinstance(event, events.Event)]


def type_burst(app: App[Any], text: str) -> None:
    """Give the app everything at once, as its driver does after one read."""
    driver = app._driver
    assert driver is not None
    for event in parsed(text):
        driver.process_message(event)
