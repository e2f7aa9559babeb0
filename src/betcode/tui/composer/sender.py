"""Sends messages in order and once each, also across reconnects."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

import anyio

from betcode.client import ClientError
from betcode.domain.agents.commands import AttachedFile
from betcode.domain.values.identifiers import MessageId, new_message_id
from betcode.tui.composer.outbox import Outbox, UnsentMessage
from betcode.util.signal import ResettableEvent

_AGAIN_S = 1.0
_LEAVING_S = 2.0
_REMEMBERED = 50  # sent messages whose files are available when they are withdrawn


class MessageClient(Protocol):
    """The part of the client that is used here."""

    async def send(
        self,
        session_id: str,
        text: str,
        attachments: Sequence[AttachedFile] = (),
        *,
        message_id: MessageId | None = None,
    ) -> object: ...


class Sender:
    """Sends the messages of one session; `run` runs while the session is shown."""

    def __init__(
        self,
        client: MessageClient,
        session_id: str,
        data_dir: Path | None,
        changed: Callable[[], None],
        refused: Callable[[UnsentMessage, ClientError], None],
    ) -> None:
        self._client = client
        self._session_id = session_id
        self._outbox = Outbox(data_dir / "outbox" if data_dir else None, session_id)
        self._changed = changed
        self._refused = refused
        self._is_down = False
        self._news = ResettableEvent()
        self._remembered: dict[str, UnsentMessage] = {}

    @property
    def unsent(self) -> Sequence[UnsentMessage]:
        return self._outbox.unsent

    def send(self, text: str, attachments: tuple[AttachedFile, ...] = ()) -> None:
        """Store a message and send it.

        Raises:
            OSError: it is lost if this screen ends before the daemon has it.
        """
        try:
            self._outbox.add(UnsentMessage(new_message_id(), text, attachments, time.time_ns()))
        finally:
            self._wake()

    def link_changed(self, *, is_up: bool) -> None:
        """While the connection is down, send nothing, so that every message can be withdrawn."""
        if self._is_down is is_up:
            self._is_down = not is_up
            self._wake()

    def withdraw(self, message_id: str) -> UnsentMessage | None:
        """Withdraw a message that was not tried yet; None if it may have arrived."""
        message = self._outbox.withdraw(message_id)
        self._changed()
        return message

    def is_unsent(self, message_id: str) -> bool:
        return any(one.message_id == message_id for one in self._outbox.unsent)

    def sent_from_here(self, message_id: str) -> UnsentMessage | None:
        """Return a message that the daemon has, as it was written here."""
        return self._remembered.get(message_id)

    async def run(self) -> None:
        """Send messages until cancelled."""
        while True:
            self._news.clear()
            message = None if self._is_down else self._outbox.try_next()
            if message is None:
                await self._news.wait()
                continue
            if not await self._sent(message):
                with anyio.move_on_after(_AGAIN_S):
                    await self._news.wait()

    async def leave(self) -> None:
        """Send the last messages before the exit; the rest stays for the next screen."""
        with anyio.move_on_after(_LEAVING_S):
            while not self._is_down and (message := self._outbox.try_next()) is not None:
                if not await self._sent(message):
                    return

    async def _sent(self, message: UnsentMessage) -> bool:
        """Send one message; return whether it is settled."""
        try:
            await self._client.send(self._session_id, message.text, message.attachments, message_id=message.message_id)
        except ClientError as error:
            if error.may_be_retried:
                return False
            self._outbox.settle(message.message_id)
            self._refused(message, error)
        else:
            self._remembered[message.message_id] = message
            while len(self._remembered) > _REMEMBERED:
                del self._remembered[next(iter(self._remembered))]
            self._outbox.settle(message.message_id)
        self._changed()
        return True

    def _wake(self) -> None:
        self._news.set()
        self._changed()
