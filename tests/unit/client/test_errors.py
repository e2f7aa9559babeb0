"""Exceptions of calls as client errors."""

import asyncio
from contextlib import suppress

import anyio
import pytest

from betcode.client.errors import Unreachable, as_client_errors

pytestmark = pytest.mark.anyio


async def test_a_call_that_gave_up_by_itself_is_an_unreachable_daemon() -> None:
    broken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    broken.cancel()  # as gRPC does with a stream that breaks before it is open
    with pytest.raises(Unreachable, match="cancelled the call"):
        async with as_client_errors():
            await broken


async def test_a_real_cancellation_is_not_converted() -> None:
    reached = False
    with anyio.CancelScope() as scope:
        scope.cancel()
        async with as_client_errors():
            await anyio.sleep_forever()
        reached = True
    assert scope.cancelled_caught
    assert not reached


async def test_a_cancellation_replaced_by_grpc_ends_in_our_scope() -> None:
    with anyio.CancelScope() as scope:
        scope.cancel()
        async with as_client_errors():
            with suppress(asyncio.CancelledError):
                await anyio.sleep_forever()
            raise asyncio.CancelledError
    assert scope.cancelled_caught
