"""The plan of a tool call: what it would do, where, and what needs approval."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

Kind = Literal["read", "search", "edit", "execute"]


class Unfit(Exception):
    """The call cannot be carried out as it is; the model is told why."""


@dataclass(frozen=True, slots=True)
class Diff:
    """What a file was and what it became; None: there was no file."""

    path: str
    old: str | None
    new: str


@dataclass(frozen=True, slots=True)
class Result:
    """What came of a call: the words for the model, and what a person is shown beside them."""

    text: str
    is_error: bool = False
    diff: Diff | None = None


@dataclass(frozen=True, slots=True)
class Workspace:
    """Where tools work, and the environment of what they run; the root has no symbolic link in it."""

    root: Path
    environment: Mapping[str, str] = field(repr=False)
    asks_reads: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """`name` and `shown` are in the words of the rules: Bash with a command, Edit with a file_path."""

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
    """What the model wrote, taken out by name and type."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        self._given = dict(given)

    def text(self, name: str, default: str | None = None) -> str:
        value = self._given.pop(name, default)
        if not isinstance(value, str) or not _is_writable(value):
            raise Unfit(f"{name} has to be a text" if value is not None else f"{name} is missing")
        return value

    def number(self, name: str, default: int, most: int) -> int:
        value = self._given.pop(name, None)
        if value is None:
            return default
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise Unfit(f"{name} has to be a whole number of at least 1")
        return min(value, most)

    def flag(self, name: str) -> bool:
        value = self._given.pop(name, False)
        if not isinstance(value, bool):
            raise Unfit(f"{name} has to be true or false")
        return value


def _is_writable(text: str) -> bool:
    """JSON can say halves of characters, which no file, no name and no process can be given."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return "\0" not in text
