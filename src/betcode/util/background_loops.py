"""Background work of the daemon. An unexpected error in it is logged and never ends the daemon."""

import logging
from collections.abc import Awaitable, Callable
from typing import TypeVarTuple

import anyio

logger = logging.getLogger(__name__)

FIRST_DELAY_S = 1.0
LONGEST_DELAY_S = 60.0
_STEADY_AFTER_S = 120.0  # a loop that ran this long failed for a new reason

Ts = TypeVarTuple("Ts")


def next_delay_s(delay_s: float, ran_s: float) -> float:
    """How long to wait before a loop that ran for `ran_s` starts again; `delay_s` was the wait before that."""
    if not delay_s or ran_s >= _STEADY_AFTER_S:
        return FIRST_DELAY_S
    return min(2 * delay_s, LONGEST_DELAY_S)


async def run_once(name: str, work: Callable[[*Ts], Awaitable[object]], *args: *Ts) -> None:
    """Run `work`; log an exception and go no further."""
    try:
        await work(*args)
    except Exception:
        logger.exception("the background task %s failed", name)


async def keep_running(name: str, loop: Callable[[*Ts], Awaitable[None]], *args: *Ts) -> None:
    """Run `loop` until it returns; log each exception and retry after a growing delay."""
    delay_s = 0.0
    while True:
        began = anyio.current_time()
        try:
            await loop(*args)
        except Exception:
            delay_s = next_delay_s(delay_s, anyio.current_time() - began)
            logger.exception("the background loop %s failed; it starts again in %g s", name, delay_s)
        else:
            return
        await anyio.sleep(delay_s)
