"""What happens in one session, from the daemon into the model; reconnects by itself."""

from collections.abc import Callable
from contextlib import aclosing

import anyio

from betcode.client import Client, Link
from betcode.tui.model.conversation import Conversation
from betcode.tui.model.standing import Standing
from betcode.v1 import agent_pb2 as v1

_AT_ONCE = 500  # events between two looks at the keyboard


class SessionFeed:
    """Follows a session and calls `changed` after each batch; keys are answered in between."""

    def __init__(self, client: Client, summary: v1.SessionSummary, changed: Callable[[], None]) -> None:
        self.conversation = Conversation(client.identity.client_id)
        self.standing = Standing(client.identity.client_id)
        self.standing.begin(summary)
        self.link: Link | None = None
        self.has_ended = False
        self._client = client
        self._changed = changed

    async def run(self) -> None:
        """Until the session has ended.

        Raises:
            ClientError: the daemon refuses, and asking again would not help.
        """
        taken = 0
        follow = self._client.follow(self.standing.session_id, on_link=self._linked)
        async with aclosing(follow) as events:
            async for event in events:
                self.conversation.take((event,))
                self.standing.take(event)
                self._changed()
                taken += 1
                if taken % _AT_ONCE == 0:
                    await anyio.lowlevel.checkpoint()
        self.has_ended = True
        self.conversation.end()
        self._changed()

    def _linked(self, link: Link) -> None:
        self.link = link
        self._changed()
