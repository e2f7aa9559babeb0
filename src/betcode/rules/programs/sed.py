"""Detects sed scripts that only edit text: no `e` that runs and no `w` that writes."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

_ADDRESS: Final = r"(?:\d+|\$|/(?:\\.|[^\\/\n])*/I?)"
_COMMAND: Final = (
    r"(?:s(?P<mark{0}>[/|#,:@!])(?:\\.|(?!(?P=mark{0}))[^\\\n])*(?P=mark{0})(?:\\.|(?!(?P=mark{0}))[^\\\n])*(?P=mark{0})"
    r"[gpiI0-9]*|[pdDnNgGhHxq=])"
)
_ONE = re.compile(rf"\s*(?:{_ADDRESS}(?:,(?:\+?\d+|{_ADDRESS}))?)?\s*!?\s*{_COMMAND.format(0)}\s*(?:[;\n]|$)")


def is_harmless(script: str) -> bool:
    """Return whether it contains only substitutions, printing and deleting."""
    at = 0
    while at < len(script):
        found = _ONE.match(script, at)
        if found is None:
            return not script[at:].strip()
        at = found.end()
    return True


def scripts(values: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Return the scripts among the words of a sed command, each with the index of its word."""
    given: list[tuple[int, str]] = []
    operands: list[tuple[int, str]] = []
    number = 1
    while number < len(values):
        value = values[number]
        following = values[number + 1] if number + 1 < len(values) else ""
        name, equals, rest = value.partition("=")
        if value.startswith("--"):
            if len(name) > 2 and "--expression".startswith(name):
                number += not equals
                given.append((number, rest if equals else following))
        elif value.startswith("-") and "e" in value:
            rest = value.partition("e")[2]
            number += not rest
            given.append((number, rest or following))
        elif not value.startswith("-"):
            operands.append((number, value))
        number += 1
    yield from given or operands[:1]
