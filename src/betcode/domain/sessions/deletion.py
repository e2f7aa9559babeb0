"""Deletion of a session in the store: it is hidden first, then erased; an interrupted deletion is continued."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from betcode.domain.values.identifiers import RunId, SessionId, SessionKey


@dataclass(frozen=True, slots=True)
class DeletedSession:
    """A session that is marked as deleted and whose data must still be erased."""

    key: SessionKey
    session_id: SessionId
    run_ids: tuple[RunId, ...]


class SessionDeletion(Protocol):
    """The part of the store that deletes sessions."""

    half_deleted: Sequence[DeletedSession]  # an earlier daemon began to delete them and did not finish

    async def mark_deleted(self, session: SessionKey) -> DeletedSession:
        """Hide the session from every reader; the returned data must be erased, files first."""
        ...

    async def erase_session(self, session: SessionKey) -> None:
        """Erase a session that is marked as deleted from every file of the database.

        Raises:
            StorageDegraded, StorageFailed: some of it may still be there.
        """
        ...
