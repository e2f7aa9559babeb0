"""The plan of a tool call: its effect, its target, and what needs approval."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

Kind = Literal["read", "search", "edit", "execute"]


class Unfit(Exception):
    """The call cannot be executed as requested; the model receives the reason."""


@dataclass(frozen=True, slots=True)
class Diff:
    """The old and new content of a file; None: there was no file."""

    path: str
    old: str | None
    new: str


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a call: the text for the model, and what a person is shown besides."""

    text: str
    is_error: bool = False
    diff: Diff | None = None


@dataclass(frozen=True, slots=True)
class Workspace:
    """The root directory and the environment of tools; the root contains no symbolic link."""

    root: Path
    environment: Mapping[str, str] = field(repr=False)
    asks_reads: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """`name` and `shown` use the names of the rules: Bash with a command, Edit with a file_path."""

    name: str
    shown: Mapping[str, Any]
    title: str
    kind: Kind
    is_asked: bool
    run: Callable[[], Awaitable[Result]] = field(repr=False)
    path: str = ""

    @property
    def may_change(self) -> bool:
        return self.kind in ("edit", "execute")


class Arguments:
    """The model's arguments, read by name and type."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        self._given = dict(given)

    def text(self, name: str, default: str | None = None) -> str:
        value = self._given.pop(name, default)
        if not isinstance(value, str) or not _is_writable(value):
            raise Unfit(f"{name} must be a string" if value is not None else f"{name} is missing")
        return value

    def number(self, name: str, default: int, most: int) -> int:
        value = self._given.pop(name, None)
        if value is None:
            return default
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise Unfit(f"{name} must be a whole number of at least 1")
        return min(value, most)

    def flag(self, name: str) -> bool:
        value = self._given.pop(name, False)
        if not isinstance(value, bool):
            raise Unfit(f"{name} must be true or false")
        return value


def _is_writable(text: str) -> bool:
    """Return whether it can be encoded: JSON allows unpaired surrogates, which no file, name or process accepts."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return "\0" not in text
