"""What a call raises, as an error of ours."""

import asyncio

import anyio
import pytest

from betcode.client.errors import Unreachable, as_client_errors

pytestmark = pytest.mark.anyio


async def test_a_call_that_gave_up_by_itself_is_an_unreachable_daemon() -> None:
    broken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    broken.cancel()  # as gRPC does with a stream that breaks before it is open
    with pytest.raises(Unreachable, match="let go of the call"), as_client_errors():
        await broken


async def test_who_is_really_cancelled_stays_so() -> None:
    reached = False
    with anyio.CancelScope() as scope:
        scope.cancel()
        with as_client_errors():
            await anyio.sleep_forever()
        reached = True
    assert scope.cancelled_caught
    assert not reached
