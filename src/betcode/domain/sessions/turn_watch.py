"""The port for observers of turns, such as snapshots of what each turn changes."""

from dataclasses import dataclass
from typing import Protocol

from betcode.domain.values.identifiers import SessionId, SessionKey


@dataclass(frozen=True, slots=True)
class WatchedSession:
    key: SessionKey
    session_id: SessionId
    directory: str  # in which its agents work, or worked when it was made
    worktree_id: str = ""  # to which it belongs; that may have been moved


class TurnListener(Protocol):
    """Receives committed events in order. It never waits, and its errors do not affect the turn."""

    def began(self, session: WatchedSession, turn: int) -> None:
        """A turn is open: `turn` have ended once it has. Told again of one that did not end as turns do."""
        ...

    def used_tool(self, session: WatchedSession) -> None:
        """The open turn has begun to use a tool; called once per turn."""
        ...

    def ended(self, session: WatchedSession, first: int, last: int, at_ns: int) -> None:
        """So many turns are over, usually one; the last of them since that moment."""
        ...

    async def deleted(self, session: WatchedSession) -> None:
        """The session was deleted; returns when the stored data of its turns is removed."""
        ...
