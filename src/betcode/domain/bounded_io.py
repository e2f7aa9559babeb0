"""Port for file system access off the event loop with a time limit."""

from collections.abc import Callable
from typing import Protocol, TypeVar

T = TypeVar("T")


class FilesystemTimeout(Exception):
    """The file system did not answer in time; the text gives the reason."""


class BoundedIOPort(Protocol):
    async def run(self, directory: str, work: Callable[[], T]) -> T:
        """Run `work`, which accesses `directory`, in a thread with a time limit; return its result or raise its error.

        Raises:
            FilesystemTimeout
        """
        ...
