"""JSON with comments and trailing commas, as people write settings; every value knows its line."""

import json
import re
from dataclasses import dataclass
from typing import TypeAlias

DEPTH = 64
_BLANK = re.compile(r"(?:[ \t\r\n]+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_NAMES = {"true": True, "false": False, "null": None}

Value: TypeAlias = "str | int | float | bool | list[Located] | dict[str, Located] | None"


@dataclass(frozen=True, slots=True)
class Located:
    value: Value
    line: int

    @property
    def plain(self) -> object:
        """The value without its lines."""
        match self.value:
            case dict():
                return {name: inner.plain for name, inner in self.value.items()}
            case list():
                return [inner.plain for inner in self.value]
            case _:
                return self.value


class NotJson(Exception):
    """The text is not JSON; the message has the line and the reason."""

    def __init__(self, reason: str, line: int) -> None:
        super().__init__(f"line {line}: {reason}")
        self.reason = reason
        self.line = line


def parse(text: str) -> Located:
    """The value that a text is.

    Raises:
        NotJson: it is none, is nested too deep, or has a key twice, of which one would be lost.
    """
    reader = Reader(text.removeprefix("\ufeff"))
    value = reader.value(0)
    reader.blank()
    if reader.at < len(reader.text):
        raise reader.wrong("unexpected text after the end")
    return value


class Reader:
    """Goes through a text; `at` is how far."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self._counted = (0, 1)  # how far lines were counted, and the line there

    def line(self, at: int | None = None) -> int:
        """Return the line; counted from the last position, so that a long file does not take quadratic time."""
        at = self.at if at is None else at
        before, line = self._counted if self._counted[0] <= at else (0, 1)
        self._counted = (at, line + self.text.count("\n", before, at))
        return self._counted[1]

    def wrong(self, reason: str, at: int | None = None) -> NotJson:
        return NotJson(reason, self.line(at))

    def blank(self) -> None:
        found = _BLANK.match(self.text, self.at)
        assert found is not None
        self.at = found.end()

    def peek(self) -> str:
        self.blank()
        return self.text[self.at : self.at + 1]

    def take(self, character: str) -> bool:
        if self.peek() != character:
            return False
        self.at += 1
        return True

    def value(self, depth: int) -> Located:
        if depth > DEPTH:
            raise self.wrong("nested too deep")
        first = self.peek()
        line = self.line()
        if first == "{":
            return Located(self._object(depth), line)
        if first == "[":
            return Located(self._list(depth), line)
        if first == '"':
            return Located(self.string(), line)
        return Located(self._other(), line)

    def string(self) -> str:
        found = _STRING.match(self.text, self.at)
        if found is None:
            raise self.wrong("a string without a closing quote")
        try:
            value: str = json.loads(found[0])
        except ValueError:
            raise self.wrong("a string with an invalid escape") from None
        self.at = found.end()
        return value

    def _other(self) -> int | float | bool | None:
        for name, value in _NAMES.items():
            if self.text.startswith(name, self.at):
                self.at += len(name)
                return value
        found = _NUMBER.match(self.text, self.at)
        if found is None:
            raise self.wrong(
                "a value is missing" if self.at >= len(self.text) else f"{self.text[self.at]!r} does not begin a value"
            )
        self.at = found.end()
        digits = found[0]
        return int(digits) if digits.lstrip("-").isdigit() and len(digits) < 20 else float(digits)

    def _list(self, depth: int) -> list[Located]:
        self.at += 1
        values: list[Located] = []
        while not self.take("]"):
            values.append(self.value(depth + 1))
            if not self.take(",") and self.peek() != "]":
                raise self.wrong("a comma or ] is missing")
        return values

    def _object(self, depth: int) -> dict[str, Located]:
        self.at += 1
        values: dict[str, Located] = {}
        while not self.take("}"):
            if self.peek() != '"':
                raise self.wrong("a key in double quotes is missing")
            start = self.at
            key = self.string()
            if key in values:
                raise self.wrong(f'duplicate key "{key}" in one object', start)
            if not self.take(":"):
                raise self.wrong("a colon is missing")
            values[key] = self.value(depth + 1)
            if not self.take(",") and self.peek() != "}":
                raise self.wrong("a comma or } is missing")
        return values
