"""When messages end, as somebody sees it who reads the database."""

import time
from contextlib import suppress

import anyio
import apsw

from support.rounds.driver import Round

_LOOK_EVERY_S = 0.1


async def watch_ends(round_: Round) -> None:
    """Note when each message is first seen in a terminal state, which is after that was logged.

    Until the daemon is told to end for good: a reader at that moment would keep it from removing its database's log.
    """
    while round_.keeper.keeps:
        with suppress(apsw.Error):
            for ended in round_.facts.ended_messages():
                round_.ended_at.setdefault(ended, time.monotonic())
        await anyio.sleep(_LOOK_EVERY_S)
