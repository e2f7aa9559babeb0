"""Looks at files that somebody names: what is asked of whoever does them off the event loop."""

from collections.abc import Callable
from typing import Protocol, TypeVar

T = TypeVar("T")


class NoAnswer(Exception):
    """Files did not say in time what was asked of them; the text says so."""


class Looks(Protocol):
    async def look(self, directory: str, work: Callable[[], T]) -> T:
        """What `work`, which looks there, returns or raises; done in a thread, and not waited for without end.

        Raises:
            NoAnswer
        """
        ...
