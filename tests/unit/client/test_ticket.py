"""Tickets that a client fetches from the daemon's ticket socket."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from betcode.client.ticket import TicketCache
from support.patience import PATIENCE_S

pytestmark = pytest.mark.anyio


Answer = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


async def tickets_of_calls_at_once(cache: TicketCache, socket: Path, count: int) -> list[str]:
    """The tickets that `count` calls get that start at the same time."""
    tickets: list[str] = []

    async def call() -> None:
        tickets.append(await cache.get(socket))

    async with anyio.create_task_group() as tasks:
        for _ in range(count):
            tasks.start_soon(call)
    return tickets


@asynccontextmanager
async def ticket_socket(path: Path, answer: Answer) -> AsyncIterator[Path]:
    """A socket on which `answer` serves every connection; the block has a time limit."""
    async with await asyncio.start_unix_server(answer, path):
        with anyio.fail_after(PATIENCE_S):
            yield path


async def test_calls_that_start_at_once_share_one_ticket(tmp_path: Path) -> None:
    issued: list[str] = []

    async def issue(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        issued.append(f"t-{len(issued)}")
        writer.write(f"ticket {issued[-1]}\n".encode())
        writer.close()

    async with ticket_socket(tmp_path / "tickets", issue) as socket:
        tickets = await tickets_of_calls_at_once(TicketCache(), socket, 500)
    assert issued == ["t-0"]
    assert tickets == ["t-0"] * 500


async def test_calls_that_start_at_once_try_a_socket_without_an_answer_once(tmp_path: Path) -> None:
    tries = 0
    cache = TicketCache()

    async def hang_up(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal tries
        tries += 1
        writer.close()

    async with ticket_socket(tmp_path / "tickets", hang_up) as socket:
        tickets = await tickets_of_calls_at_once(cache, socket, 100)
        await cache.get(socket)
    assert tickets == [""] * 100
    assert tries == 2  # once for all of them, and once for the call that came later
