"""How a stream begins."""

import asyncio
from typing import cast

import anyio
import pytest

from betcode.engine import ClientName
from betcode.server.rpc import Caller, Context, send_client_id
from support.patience import PATIENCE_S


class SlowContext:
    """Takes the first metadata in its own time."""

    def __init__(self) -> None:
        self.began, self.may_end = anyio.Event(), anyio.Event()
        self.has_ended = False

    async def send_initial_metadata(self, _metadata: object) -> None:
        self.began.set()
        await self.may_end.wait()
        self.has_ended = True


@pytest.mark.anyio
async def test_a_greeting_is_not_cut_in_the_middle() -> None:
    context = SlowContext()
    with anyio.fail_after(PATIENCE_S):
        greeting = asyncio.ensure_future(send_client_id(Caller(ClientName("somebody")), cast("Context", context)))
        await context.began.wait()
        greeting.cancel()
        await anyio.lowlevel.checkpoint()
        context.may_end.set()
        with pytest.raises(asyncio.CancelledError):
            await greeting
    assert context.has_ended
