"""What answers as a gateway and is none, or a bad one: a sentence each, within the bound, and nothing hangs."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from websockets.asyncio.server import ServerConnection, serve

from betcode.agents.openclaw.frames import Event
from betcode.agents.openclaw.link import FRAME_LIMIT_BYTES, Address, Link, Lost, Patience, Unreachable, reached
from betcode.agents.openclaw.reconnect import ReconnectingLink

pytestmark = pytest.mark.anyio
Handler = Callable[[ServerConnection], Awaitable[None]]
CHALLENGE = json.dumps({"type": "event", "event": "connect.challenge", "payload": {"nonce": "n"}})


@asynccontextmanager
async def _answering(handler: Handler) -> AsyncIterator[Address]:
    async with serve(handler, "127.0.0.1", 0, max_size=None) as server:
        port = next(iter(server.sockets)).getsockname()[1]
        yield Address(f"ws://127.0.0.1:{port}", "token")


async def _greet(socket: ServerConnection) -> None:
    await socket.send(CHALLENGE)
    asked = json.loads(await socket.recv())
    await socket.send(json.dumps({"type": "res", "id": asked["id"], "ok": True, "payload": {"protocol": 4}}))


def _patience(said: list[str], within_s: float = 0.3) -> Patience:
    return Patience(within_s, said.append)


async def _hangs_up(socket: ServerConnection) -> None:
    await socket.send(CHALLENGE)
    await socket.recv()
    await socket.close(1011)


async def _says_nothing(socket: ServerConnection) -> None:
    await socket.wait_closed()


async def _babbles(socket: ServerConnection) -> None:
    for _ in range(50):
        await socket.send("\x00not json")
    await socket.wait_closed()


@pytest.mark.parametrize("handler", [_hangs_up, _says_nothing, _babbles])
async def test_what_does_not_greet_is_given_up_within_the_bound(handler: Handler) -> None:
    async with _answering(handler) as address, asyncio.timeout(30):
        with pytest.raises(Unreachable, match="connection lost"):
            async with reached(address, _patience([])):
                raise AssertionError("it let us in")


async def test_one_that_lets_us_in_and_hangs_up_each_time_is_given_up_within_the_bound() -> None:
    tries = 0

    async def hangs_up(socket: ServerConnection) -> None:
        nonlocal tries
        tries += 1
        await _greet(socket)
        await socket.recv()

    async def take_up(link: Link) -> None:
        await link.call("sessions.subscribe")

    async def attend(_: Link) -> None:
        raise AssertionError("it was taken up")

    async def lost(_: Unreachable | None) -> None:
        """Nobody is told."""

    async with _answering(hangs_up) as address, asyncio.timeout(30), asyncio.TaskGroup() as tasks:
        keeper = ReconnectingLink(address, _patience([], within_s=0.6))
        keeping = tasks.create_task(keeper.keep(take_up, attend, lost))
        with pytest.raises(Unreachable, match="connection lost"):
            await keeper.link()
        keeping.cancel()
    assert tries < 10


async def test_a_wrong_token_is_no_reason_to_try_again() -> None:
    tries = 0

    async def refuses(socket: ServerConnection) -> None:
        nonlocal tries
        tries += 1
        await socket.send(CHALLENGE)
        asked = json.loads(await socket.recv())
        error = {"code": "INVALID_REQUEST", "message": "unauthorized", "details": {"code": "AUTH_TOKEN_MISMATCH"}}
        await socket.send(json.dumps({"type": "res", "id": asked["id"], "ok": False, "error": error}))

    async with _answering(refuses) as address, asyncio.timeout(30):
        with pytest.raises(Unreachable, match="token is wrong") as refused:
            async with reached(address, _patience([], within_s=20)):
                raise AssertionError("it let us in")
    assert refused.value.is_auth
    assert tries == 1
    assert "token" not in str(refused.value).replace("the token is wrong", "")


async def test_a_web_server_is_no_gateway() -> None:
    async def page(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(page, "127.0.0.1", 0) as server, asyncio.timeout(30):
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(Unreachable, match="not an OpenClaw gateway"):
            async with reached(Address(f"ws://127.0.0.1:{port}", ""), _patience([])):
                raise AssertionError("it let us in")


async def test_malformed_frames_are_skipped_and_the_rest_is_read() -> None:
    async def mixes(socket: ServerConnection) -> None:
        await _greet(socket)
        bad: list[Any] = ["{", "[]", "null", '"x"', '{"type":"event"}', '{"type":"res","ok":true}', "[" * 100_000]
        for frame in bad:
            await socket.send(frame)
        await socket.send(b"\xff\xfe")
        await socket.send('{"type":"event","event":"last","payload":7}')
        await socket.wait_closed()

    async with _answering(mixes) as address, asyncio.timeout(30), reached(address, _patience([])) as link:
        assert await link.events.get() == Event("last")


async def test_a_frame_over_the_limit_closes_the_link_and_fails_pending_calls() -> None:
    async def floods(socket: ServerConnection) -> None:
        await _greet(socket)
        await socket.recv()
        await socket.send("x" * (FRAME_LIMIT_BYTES + 1))
        await socket.wait_closed()

    async with _answering(floods) as address, asyncio.timeout(60), reached(address, _patience([])) as link:
        with pytest.raises(Lost):
            await link.call("chat.history")
        assert await _last(link) is None
        assert link.is_lost


async def test_whoever_calls_a_gateway_that_never_answers_does_not_wait_for_ever() -> None:
    async def greets_only(socket: ServerConnection) -> None:
        await _greet(socket)
        await socket.wait_closed()

    async with _answering(greets_only) as address, asyncio.timeout(30), reached(address, _patience([])) as link:
        with pytest.raises(Lost, match="does not answer"):
            await link.call("chat.send", 0.05)


async def _last(link: Link) -> Event | None:
    while (event := await link.events.get()) is not None:
        pass
    return event
