"""Tickets that a client fetches from the daemon's ticket socket."""

import asyncio
from pathlib import Path

import anyio
import pytest

from betcode.client.ticket import TicketCache
from support.patience import PATIENCE_S

pytestmark = pytest.mark.anyio


async def test_calls_that_start_at_once_share_one_ticket(tmp_path: Path) -> None:
    issued: list[str] = []
    tickets: list[str] = []
    cache = TicketCache()

    async def issue(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        issued.append(f"t-{len(issued)}")
        writer.write(f"ticket {issued[-1]}\n".encode())
        writer.close()

    async def call() -> None:
        tickets.append(await cache.get(tmp_path / "tickets"))

    async with await asyncio.start_unix_server(issue, tmp_path / "tickets"):
        with anyio.fail_after(PATIENCE_S):
            async with anyio.create_task_group() as tasks:
                for _ in range(500):
                    tasks.start_soon(call)
    assert issued == ["t-0"]
    assert tickets == ["t-0"] * 500


async def test_calls_that_start_at_once_try_a_socket_without_an_answer_once(tmp_path: Path) -> None:
    tries = 0
    tickets: list[str] = []
    cache = TicketCache()

    async def hang_up(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal tries
        tries += 1
        writer.close()

    async def call() -> None:
        tickets.append(await cache.get(tmp_path / "tickets"))

    async with await asyncio.start_unix_server(hang_up, tmp_path / "tickets"):
        with anyio.fail_after(PATIENCE_S):
            async with anyio.create_task_group() as tasks:
                for _ in range(100):
                    tasks.start_soon(call)
            await cache.get(tmp_path / "tickets")
    assert tickets == [""] * 100
    assert tries == 2  # once for all of them, and once for the call that came later
