"""The types of setting values: how each is parsed, and a description of the allowed values."""

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from betcode.config.units import NotUnderstood, TooMuch, duration_s, short_size, size_bytes
from betcode.domain.values.times import short_duration

_MANY = 20
_MOST_OF_ALL = 2**31 - 1


@dataclass(frozen=True, slots=True)
class ValueType:
    """`read` returns the value of a field, or raises NotUnderstood with `allowed`, a phrase after "must be"."""

    allowed: str
    read: Callable[[object], object]
    is_text: bool = False  # the text of a variable or an argument is the value, not JSON
    write: Callable[[Any], object] = lambda value: value  # the JSON that a field's value is written as

    def read_text(self, text: str) -> object:
        """Return the JSON value of a variable or an argument: `3`, `true`, `10m`, `["a"]`; it is not validated yet."""
        if self.is_text:
            return text
        try:
            value: object = json.loads(text)
        except (ValueError, RecursionError):  # the second: nested a thousand times
            return text
        return text if isinstance(value, float) and not math.isfinite(value) else value


def whole(least: int, most: int | None = None) -> ValueType:
    allowed = f"a whole number of at least {least}" if most is None else f"a whole number from {least} to {most}"

    def read(value: object) -> int:
        if (
            isinstance(value, bool)
            or not isinstance(value, int)
            or value < least
            or (most is not None and value > most)
        ):
            raise NotUnderstood(allowed)
        if value > _MOST_OF_ALL:
            raise NotUnderstood(f"a whole number of at most {_MOST_OF_ALL}")
        return value

    return ValueType(allowed, read)


def duration(least_s: float = 0.0, most_s: float = math.inf) -> ValueType:
    allowed = 'a duration such as "90s", "10m" or "2h"'
    if most_s != math.inf:
        allowed += f" from {short_duration(least_s)} to {short_duration(most_s)}"
    elif least_s:
        allowed += f" of at least {short_duration(least_s)}"

    def read(value: object) -> float:
        try:
            seconds = duration_s(value)
        except NotUnderstood as wrong:
            is_too_much = isinstance(wrong, TooMuch) and most_s == math.inf
            raise NotUnderstood(str(wrong) if is_too_much else allowed) from None
        if not least_s <= seconds <= most_s:
            raise NotUnderstood(allowed)
        return seconds

    return ValueType(allowed, read, write=short_duration)


def size(least: int = 0) -> ValueType:
    allowed = 'a size such as "512MB" or "2GB"' + (f" of at least {short_size(least)}" if least else "")

    def read(value: object) -> int:
        try:
            found = size_bytes(value)
        except TooMuch:
            raise
        except NotUnderstood:
            raise NotUnderstood(allowed) from None
        if found < least:
            raise NotUnderstood(allowed)
        return found

    return ValueType(allowed, read, write=short_size)


def one_of(*choices: str) -> ValueType:
    allowed = " or ".join(json.dumps(choice) for choice in choices)

    def read(value: object) -> str:
        if not isinstance(value, str) or value not in choices:
            raise NotUnderstood(allowed)
        return value

    return ValueType(allowed, read, is_text=True)


def yes_or_no() -> ValueType:
    def read(value: object) -> bool:
        if not isinstance(value, bool):
            raise NotUnderstood("true or false")
        return value

    return ValueType("true or false", read)


def text() -> ValueType:
    def read(value: object) -> str:
        if not isinstance(value, str) or not value.isprintable():
            raise NotUnderstood("a text")
        return value

    return ValueType("a text", read, is_text=True)


def names() -> ValueType:
    allowed = 'a list of names such as ["GH_TOKEN"]'

    def read(value: object) -> tuple[str, ...]:
        if not isinstance(value, list) or not all(isinstance(name, str) and name for name in value):
            raise NotUnderstood(allowed)
        return tuple(value)

    return ValueType(allowed, read, write=list)


def switches() -> ValueType:
    """Names, each on or off."""
    allowed = 'an object of names that are true or false, such as {"a_feature": true}'

    def read(value: object) -> dict[str, bool]:
        if not isinstance(value, dict) or not all(isinstance(is_on, bool) for is_on in value.values()):
            raise NotUnderstood(allowed)
        return dict(value)

    return ValueType(allowed, read, write=dict)


def ascending_durations() -> ValueType:
    allowed = f'a list of at most {_MANY} durations, each longer than the one before, such as ["1h", "24h"]'

    def read(value: object) -> tuple[float, ...]:
        if not isinstance(value, list) or len(value) > _MANY:
            raise NotUnderstood(allowed)
        try:
            found = tuple(duration_s(each) for each in value)
        except TooMuch:
            raise
        except NotUnderstood:
            raise NotUnderstood(allowed) from None
        if any(later <= sooner for sooner, later in zip((0.0, *found), found, strict=False)):
            raise NotUnderstood(allowed)
        return found

    return ValueType(allowed, read, write=lambda value: [short_duration(each) for each in value])


def command_line() -> ValueType:
    """A program and its arguments, as a list."""
    allowed = 'a list that begins with the absolute path of a program, such as ["/usr/local/bin/tell-me", "--loud"]'

    def read(value: object) -> tuple[str, ...]:
        if not isinstance(value, list) or not all(isinstance(each, str) and "\0" not in each for each in value):
            raise NotUnderstood(allowed)
        if value and not Path(value[0]).is_absolute():
            raise NotUnderstood(allowed)
        return tuple(value)

    return ValueType(allowed, read, write=list)


def web_address() -> ValueType:
    """Parse the address of a webhook."""
    allowed = 'an address such as "https://example.com/hook", without a user name'

    def read(value: object) -> str:
        if not isinstance(value, str) or (value and not _can_be_posted_to(value)):
            raise NotUnderstood(allowed)
        return value

    return ValueType(allowed, read, is_text=True)


def _can_be_posted_to(address: str) -> bool:
    try:
        parts = urlsplit(address)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and "@" not in parts.netloc
        usable = usable and (parts.port is None or parts.port > 0)
    except ValueError:
        return False
    return usable and address.isascii() and address.isprintable() and " " not in address


def absolute_path() -> ValueType:
    """A file's absolute path."""
    allowed = "the absolute path of a file"

    def read(value: object) -> str:
        if not isinstance(value, str) or "\0" in value or (value and not Path(value).is_absolute()):
            raise NotUnderstood(allowed)
        return value

    return ValueType(allowed, read, is_text=True)
