"""What the engine needs from a store at startup, possibly from one that is still read-only."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from betcode.domain.values.identifiers import SessionId


class StartupStore(Protocol):
    @property
    def has_begun(self) -> bool:
        """Whether anything could be written since the store was opened; until then it is only read."""
        ...

    async def until_begun(self) -> None:
        """Return when something can be written for the first time."""
        ...

    async def sessions_of_runs(self, runs: Sequence[str]) -> Mapping[str, SessionId]:
        """The sessions of those runs that are known, by run."""
        ...
