"""The store's interface at startup, when it may still be read-only."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from betcode.domain.values.identifiers import SessionId


class StartupStore(Protocol):
    @property
    def has_begun(self) -> bool:
        """Return whether anything could be written since the store was opened; until then it is read-only."""
        ...

    async def until_begun(self) -> None:
        """Return when the first write is possible."""
        ...

    async def sessions_of_runs(self, runs: Sequence[str]) -> Mapping[str, SessionId]:
        """Return the sessions of those runs that are known, by run."""
        ...
