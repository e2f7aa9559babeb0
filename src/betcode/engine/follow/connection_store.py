"""Store connected clients and lock holders: written with a delay, in one commit for all sessions."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field

import anyio

from betcode.domain.errors import StorageDegraded, StorageFailed
from betcode.domain.store.changes import Change, SaveClients
from betcode.domain.store.rows import ConnectedClient
from betcode.domain.store.store_ports import CommitStore
from betcode.domain.values.identifiers import SessionKey
from betcode.util.signal import ResettableEvent

logger = logging.getLogger(__name__)

SAVE_AFTER_S = 0.1  # who comes and goes within it costs no write
RETRY_AFTER_S = 1.0


@dataclass(slots=True)
class _Standing:
    clients: dict[str, ConnectedClient] = field(default_factory=dict)
    holder: str = ""

    @property
    def is_empty(self) -> bool:
        return not self.clients and not self.holder


@dataclass(slots=True)
class ConnectionStore:
    """Nobody waits for it: rows follow what is, and the next daemon forgets them all."""

    store: CommitStore
    _now: dict[SessionKey, _Standing] = field(default_factory=dict)
    _stored: dict[SessionKey, _Standing] = field(default_factory=dict)
    _changed: set[SessionKey] = field(default_factory=set)
    _noted: ResettableEvent = field(default_factory=ResettableEvent)

    def note_lock(self, session: SessionKey, holder: str) -> None:
        self._standing(session).holder = holder

    def note_came(self, session: SessionKey, client: ConnectedClient) -> None:
        self._standing(session).clients[client.client_id] = client

    def note_left(self, session: SessionKey, client_id: str) -> None:
        self._standing(session).clients.pop(client_id, None)

    async def keep(self) -> None:
        """Write what was noted, again and again."""
        while True:
            await self._noted.wait()
            await anyio.sleep(SAVE_AFTER_S)
            self._noted.clear()
            if not await self._save():
                self._noted.set()
                await anyio.sleep(RETRY_AFTER_S)

    async def _save(self) -> bool:
        sessions, self._changed = self._changed, set()
        changes = list(map(self._change, sessions))
        wanted: list[Change] = [change for change in changes if change is not None]
        if not wanted:
            return True
        try:
            await self.store.commit(wanted)
        except StorageDegraded:
            self._changed |= sessions
            return False
        except StorageFailed:
            # It is only told, never relied on: a later change of the same session tries again.
            logger.exception("who is connected could not be stored")
            return True
        for change in changes:
            if change is not None:
                self._note_stored(change)
        return True

    def _standing(self, session: SessionKey) -> _Standing:
        self._changed.add(session)
        self._noted.set()
        return self._now.setdefault(session, _Standing())

    def _change(self, session: SessionKey) -> SaveClients | None:
        """What has to be written so that the rows say what is."""
        now = self._now.get(session, _Standing())
        stored = self._stored.get(session, _Standing())
        if now.is_empty:
            self._now.pop(session, None)
        went = tuple(one.client_id for one in stored.clients.values() if now.clients.get(one.client_id) != one)
        came = tuple(one for one in now.clients.values() if stored.clients.get(one.client_id) != one)
        if not went and not came and now.holder == stored.holder:
            return None
        return SaveClients(session, came, went, now.holder)

    def _note_stored(self, change: SaveClients) -> None:
        stored = self._stored.setdefault(change.session, _Standing())
        for client_id in change.went:
            stored.clients.pop(client_id, None)
        stored.clients.update(_by_id(change.came))
        stored.holder = change.input_lock_client
        if stored.is_empty:
            del self._stored[change.session]


def _by_id(clients: tuple[ConnectedClient, ...]) -> Mapping[str, ConnectedClient]:
    return {client.client_id: client for client in clients}
