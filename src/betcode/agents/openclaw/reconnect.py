"""A link to the gateway that reconnects, within a limit."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from betcode.agents.openclaw.link import Address, Link, Lost, Patience, Refused, Unreachable, Wait, reached
from betcode.util.signal import ResettableEvent

logger = logging.getLogger(__name__)


class ReconnectingLink:
    """Whoever needs the link waits for it with `link`; `attend` has it first, each time it is new."""

    def __init__(self, address: Address, patience: Patience) -> None:
        self._address = address
        self._patience = patience
        self._wanted = ResettableEvent()
        self._next: asyncio.Future[Link] = asyncio.get_running_loop().create_future()
        self._wanted.set()

    @property
    def now(self) -> Link | None:
        """The link, if there is one at this moment."""
        if not self._next.done() or self._next.exception() is not None:
            return None
        return None if self._next.result().is_lost else self._next.result()

    async def link(self) -> Link:
        """Raises Unreachable: there was none within the bound, or it does not let us in."""
        if self._next.done() and (self._next.exception() is not None or self._next.result().is_lost):
            self._next = asyncio.get_running_loop().create_future()
            self._wanted.set()
        return await asyncio.shield(self._next)

    async def keep(
        self,
        take_up: Callable[[Link], Awaitable[None]],
        attend: Callable[[Link], Awaitable[None]],
        lost: Callable[[Unreachable | None], Awaitable[None]],
    ) -> None:
        """Repeat: `take_up` a new link, publish it, `attend` to it until it ends, and report that it is `lost`.

        `lost` gets None first, and the reason if no other link was found.
        """
        waited: Wait | None = None  # for one that lets us in and then hangs up
        while True:
            await self._wanted.wait()
            try:
                async with reached(self._address, self._patience) as link:
                    await take_up(link)
                    waited = None
                    self._have(link)
                    await attend(link)
            except Lost as gone:
                logger.info("lost while it was taken up: %s", gone)
                waited = waited or Wait(self._address.url, self._patience)
                try:
                    await waited.pause(str(gone))
                except Unreachable as missing:
                    waited = None
                    await self._give_up(missing, lost)
                continue
            except Unreachable as missing:
                await self._give_up(missing, lost)
                continue
            except Refused as refused:
                refusal = Unreachable(f"The OpenClaw gateway refuses: {refused.error}", error=refused.error)
                await self._give_up(refusal, lost)
                continue
            await lost(None)

    def _have(self, link: Link) -> None:
        if self._next.done():
            self._next = asyncio.get_running_loop().create_future()
        self._next.set_result(link)

    async def _give_up(self, why: Unreachable, lost: Callable[[Unreachable | None], Awaitable[None]]) -> None:
        self._wanted.clear()
        if self._next.done():
            self._next = asyncio.get_running_loop().create_future()
        self._next.set_exception(why)
        self._next.exception()  # no task may be waiting
        await lost(why)
