"""One connection to the gateway, from its challenge to its end: calls, and events in order."""

import asyncio
import itertools
import logging
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from betcode._version import __version__
from betcode.agents.openclaw.frames import (
    Event,
    GatewayAnswer,
    GatewayError,
    Unreadable,
    connect_params,
    decode,
    request,
)

if TYPE_CHECKING:
    from websockets.asyncio.client import ClientConnection

logger = logging.getLogger(__name__)

FRAME_LIMIT_BYTES = 32 * 1024 * 1024  # the gateway's own is 25 MiB
_STEP_S = 10.0  # for the challenge, and for the answer to our greeting
_CALL_S = 60.0
_AGAIN_AFTER_S = 0.25  # if the gateway reports that it is starting
_PAUSES_S = (0.25, 0.25, 0.5, 1.0, 2.0)  # if nothing answers
_TOLD_EVERY_S = 5.0


@dataclass(frozen=True, slots=True)
class Address:
    url: str
    token: str


class Refused(Exception):
    """The gateway answered a call with an error."""

    def __init__(self, error: GatewayError) -> None:
        super().__init__(str(error))
        self.error = error


class Lost(Exception):
    """The connection is lost; a request may have been executed or not."""


class Unreachable(Exception):
    """No gateway was reachable in time, it refuses the login (`is_auth`), or it refuses the session (`error`)."""

    def __init__(self, message: str, *, is_auth: bool = False, error: GatewayError | None = None) -> None:
        super().__init__(message)
        self.is_auth = is_auth
        self.error = error


@dataclass(frozen=True, slots=True)
class Patience:
    """How long to wait for a gateway."""

    within_s: float
    say: Callable[[str], None]
    hopeless: Callable[[], str] = lambda: ""  # why it will never be reachable, if known


class Link:
    """A gateway that has let us in. `events` ends when the connection does."""

    def __init__(self, socket: "ClientConnection") -> None:
        self._socket = socket
        self._numbers = itertools.count(1)
        self._waiting: dict[str, asyncio.Future[GatewayAnswer]] = {}
        self.events: asyncio.Queue[Event | None] = asyncio.Queue()  # None: the connection has ended
        self.is_lost = False

    async def call(self, method: str, timeout_s: float = _CALL_S, /, **params: Any) -> Any:
        """Raises: Refused, Lost."""
        request_id = str(next(self._numbers))
        waiting = self._waiting[request_id] = asyncio.get_running_loop().create_future()
        try:
            await self._send(request(request_id, method, params))
            answer = await asyncio.wait_for(waiting, timeout_s)
        except TimeoutError:
            raise Lost(f"the gateway does not answer {method}") from None
        finally:
            self._waiting.pop(request_id, None)
        if answer.error is not None:
            raise Refused(answer.error)
        return answer.payload

    async def greet(self, token: str, step_s: float) -> None:
        """Raises: Refused, Lost, TimeoutError."""
        async with asyncio.timeout(step_s):
            while (event := await self.events.get()) is None or event.name != "connect.challenge":
                if event is None:
                    raise Lost("the gateway hung up before it greeted us")
        await self.call("connect", step_s, **connect_params(token, __version__, sys.platform))

    async def read(self) -> None:
        """Read frames until the connection ends."""
        from websockets.exceptions import ConnectionClosed

        try:
            async for message in self._socket:
                match decode(message):
                    case GatewayAnswer() as answer:
                        if (waiting := self._waiting.get(answer.request_id)) and not waiting.done():
                            waiting.set_result(answer)
                    case Event() as event:
                        self.events.put_nowait(event)
                    case Unreadable(reason):
                        logger.warning("ignored a frame of the gateway: %s", reason)
        except ConnectionClosed as closed:
            logger.info("the gateway's connection ended: %s", closed)
        finally:
            self.is_lost = True
            for waiting in self._waiting.values():
                if not waiting.done():
                    waiting.set_exception(Lost("the connection to the gateway ended"))
            self.events.put_nowait(None)

    async def _send(self, text: str) -> None:
        from websockets.exceptions import ConnectionClosed

        try:
            await self._socket.send(text)
        except ConnectionClosed as closed:
            raise Lost(f"the connection to the gateway ended: {closed}") from None


@asynccontextmanager
async def linked(address: Address, step_s: float = _STEP_S) -> AsyncIterator[Link]:
    """Raises: Refused, Lost, OSError; all of them before the block begins."""
    from websockets.asyncio.client import connect
    from websockets.exceptions import InvalidHandshake, InvalidURI

    try:
        socket = await connect(
            address.url, open_timeout=step_s, close_timeout=1, max_size=FRAME_LIMIT_BYTES, proxy=None
        )
    except (InvalidHandshake, InvalidURI, EOFError) as wrong:
        raise Lost(f"the server at {address.url} is not an OpenClaw gateway: {wrong}") from None
    except TimeoutError:
        raise Lost(f"nothing answers at {address.url}") from None
    link = Link(socket)
    reading = asyncio.ensure_future(link.read())
    try:
        try:
            await link.greet(address.token, step_s)
        except TimeoutError:
            raise Lost(f"the server at {address.url} does not answer like an OpenClaw gateway") from None
        yield link
    finally:
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)
        await socket.close()


@asynccontextmanager
async def reached(address: Address, patience: Patience) -> AsyncIterator[Link]:
    """Return a link to a gateway that may still be starting or restarting; retries for some time.

    Raises: Unreachable.
    """
    waited = Wait(address.url, patience)
    while True:
        try:
            async with linked(address, min(_STEP_S, patience.within_s)) as link:
                waited.is_over = True
                yield link
                return
        except (Lost, OSError) as missing:
            if waited.is_over:
                raise
            is_away = isinstance(missing, ConnectionRefusedError)
            await waited.pause("nothing answers yet" if is_away else str(missing) or "nothing answers")
        except Refused as refused:
            if waited.is_over:
                raise
            if not _may_pass(refused.error):
                raise Unreachable(_advice(address, refused.error), is_auth=True) from None
            await waited.pause(refused.error.message, _AGAIN_AFTER_S)


class Wait:
    """The wait for a gateway: increasing pauses, occasional notices, and a timeout."""

    def __init__(self, url: str, patience: Patience) -> None:
        self._url = url
        self._patience = patience
        self._began = self._told = asyncio.get_running_loop().time()
        self._tries = 0
        self.is_over = False

    async def pause(self, why: str, pause_s: float | None = None) -> None:
        """Raises Unreachable."""
        now = asyncio.get_running_loop().time()
        within_s = self._patience.within_s
        if hopeless := self._patience.hopeless():
            raise Unreachable(f"connection lost: {hopeless}")
        if now - self._began >= within_s:
            raise Unreachable(f"connection lost: no OpenClaw gateway at {self._url} within {within_s:.0f} s ({why})")
        if now - self._told >= _TOLD_EVERY_S:
            self._told = now
            self._patience.say(
                f"waiting for the OpenClaw gateway at {self._url}, {now - self._began:.0f} s so far: {why}"
            )
        longer_s = _PAUSES_S[min(self._tries, len(_PAUSES_S) - 1)]
        self._tries += 1
        await asyncio.sleep(min(longer_s if pause_s is None else pause_s, within_s))


def _may_pass(error: GatewayError) -> bool:
    return error.is_retryable or error.code == "UNAVAILABLE"


def _advice(address: Address, error: GatewayError) -> str:
    if "TOKEN" in error.reason or "unauthorized" in error.message:
        what = "the token is wrong" if address.token else "it requires a token"
        return f"The OpenClaw gateway at {address.url} refuses access: {what} ({error.message})"
    return f"The OpenClaw gateway at {address.url} refuses the connection: {error}"
