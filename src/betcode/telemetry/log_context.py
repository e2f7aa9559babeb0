"""The context of a log line: a dotted path such as `turn.permission`, and its session.

The path belongs to the task or thread that does the work, so that every line logged there has it.
"""

from contextvars import ContextVar, Token
from typing import NamedTuple


class Work(NamedTuple):
    span: str
    session_id: str = ""


_NOTHING = Work("daemon")  # the daemon itself: starting, stopping, reading settings
_now: ContextVar[Work] = ContextVar("work", default=_NOTHING)


def current() -> Work:
    return _now.get()


def begin(path: str, session_id: str = "") -> None:
    """From here on this task, or this thread, does that work."""
    _now.set(Work(path, session_id))


class Span:
    """`with Span("append"):` adds a step to the current path; with `root` it starts a new path."""

    __slots__ = ("_name", "_root", "_session_id", "_token")

    def __init__(self, name: str, session_id: str = "", *, root: bool = False) -> None:
        self._name = name
        self._session_id = session_id
        self._root = root
        self._token: Token[Work] | None = None

    def __enter__(self) -> None:
        above = _now.get()
        path = self._name if self._root or above is _NOTHING else f"{above.span}.{self._name}"
        self._token = _now.set(Work(path, self._session_id or above.session_id))

    def __exit__(self, *_: object) -> None:
        if self._token is not None:
            _now.reset(self._token)
