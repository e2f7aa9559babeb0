"""Requests the input lock, and answers requests for it."""

from typing import Protocol

from betcode.client import Client, ClientError
from betcode.tui.input_lock.view import LockCard, LockView
from betcode.wording.terminal_text import one_line

_NAME = 60


class ShowMessage(Protocol):
    """Shows a sentence to the person."""

    def __call__(self, words: str, *, bad: bool = False) -> None: ...


class LockActions:
    """Calls the daemon and shows the results."""

    def __init__(self, client: Client, session_id: str, say: ShowMessage) -> None:
        self.is_asking = False  # a request is pending
        self._client = client
        self._session_id = session_id
        self._say = say

    async def ask(self, lock: LockView) -> None:
        """Request the lock and wait for the holder's answer."""
        self.is_asking = True
        holder = one_line(lock.holder, _NAME)
        if holder:
            self._say(f"Asked {holder} for the input lock; yours when the time is up unless they refuse")
        try:
            answer = await self._client.input_lock.request(self._session_id)
        except ClientError as error:
            self._say(error.message, bad=True)
        else:
            refused = (
                f"{holder or 'The other client'} keeps the input lock; you are next when they disconnect or stop typing"
            )
            self._say("You have the input lock" if answer.granted else refused)
        finally:
            self.is_asking = False

    async def answer(self, answered: LockCard.Answered) -> None:
        try:
            await self._client.input_lock.answer(self._session_id, answered.asking_id, grant=answered.grant)
        except ClientError as error:
            self._say(error.message, bad=True)
        else:
            self._say(
                "Handed over. Ctrl+L requests it back"
                if answered.grant
                else "You keep the input lock; the other client is queued"
            )
