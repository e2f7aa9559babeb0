"""The health checks: what each one tests, and how often."""

import asyncio
import os
import socket
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import anyio
import anyio.to_thread

from betcode.domain.errors import BetcodeError
from betcode.domain.metrics.health import HealthOutcome, pool_outcome
from betcode.engine import EngineFacts

Facts = Callable[[], EngineFacts]
Result = TypeVar("Result")

POOL, SQLITE, LOCAL_SERVER = "subprocess_pool", "sqlite", "local_server"
CHECK_BOUND_S = 3.0
_LEAST_FREE_BYTES = 256 * 1024
AGAIN_S = 2.0  # interval for components that are or may be unhealthy, so that changes are seen early


@dataclass(frozen=True, slots=True)
class Component:
    name: str
    every_s: float
    is_critical: bool  # without it the daemon serves nothing
    check: Callable[[], Awaitable[HealthOutcome]]
    suspects: Callable[[], bool] = lambda: False  # a cheap test whether a check should run early


def components(
    facts: Facts,
    degraded: Callable[[], str],  # why sessions cannot write, if they cannot
    agent_trouble: Callable[[], str],
    probe_storage: Callable[[], Awaitable[None]],
    state_dir: Path,
    listeners: "Callable[[], tuple[Listener, ...]]",
) -> tuple[Component, ...]:
    """Those of a daemon without a relay."""
    check_program, check_disk = _one_at_a_time(agent_trouble), _one_at_a_time(lambda: _free_bytes(state_dir))

    async def pool() -> HealthOutcome:
        trouble = await anyio.to_thread.run_sync(check_program, abandon_on_cancel=True)
        now = facts()
        return pool_outcome(now.turns_at_work, now.turn_limit, now.waiting_in_line, now.queue_limit, trouble)

    async def sqlite() -> HealthOutcome:
        try:
            await probe_storage()
        except BetcodeError as error:
            return HealthOutcome(False, error.message)
        # The test file is small, and may fit where nothing else would.
        free = await anyio.to_thread.run_sync(check_disk, abandon_on_cancel=True)
        if free < _LEAST_FREE_BYTES:
            return HealthOutcome(False, f"The disk of {state_dir} is full")
        reason = degraded()
        return HealthOutcome(not reason, reason)

    async def local_server() -> HealthOutcome:
        for listener in listeners():
            if trouble := await listener.trouble():
                return HealthOutcome(False, trouble)
        return HealthOutcome(True)

    return (
        Component(POOL, 10.0, False, pool),
        Component(SQLITE, 30.0, True, sqlite, lambda: bool(degraded())),
        Component(LOCAL_SERVER, 5.0, True, local_server),
    )


def _one_at_a_time(check: Callable[[], Result]) -> Callable[[], Result]:
    """Run the check, unless an earlier one hangs: a dead disk would occupy one more thread each time."""
    busy = threading.Lock()

    def run() -> Result:
        if not busy.acquire(timeout=CHECK_BOUND_S):
            raise TimeoutError
        try:
            return check()
        finally:
            busy.release()

    return run


def _free_bytes(directory: Path) -> int:
    facts = os.statvfs(directory)
    return (facts.f_bfree if os.geteuid() == 0 else facts.f_bavail) * facts.f_frsize


async def run_check(component: Component) -> HealthOutcome:
    """Return the result of the check; one that hangs or fails unexpectedly is unhealthy."""
    try:
        with anyio.fail_after(CHECK_BOUND_S):
            return await component.check()
    except TimeoutError:
        what = "nothing could be written" if component.name == SQLITE else "no answer"
        return HealthOutcome(False, f"{what} within {CHECK_BOUND_S:.0f} s")
    except OSError as error:
        return HealthOutcome(False, f"it cannot be checked: {error.strerror or error}")


@dataclass(frozen=True, slots=True)
class Listener:
    """An address where clients connect."""

    shown: str  # for people
    address: str | tuple[str, int]  # a unix socket, or host and port
    greets: bool = True  # a client gets the first bytes of HTTP/2 at once; not if TLS or a limit comes first

    async def trouble(self) -> str:
        """Connect as a client would; return the error, or an empty text."""
        try:
            if isinstance(self.address, str):
                reader, writer = await asyncio.open_unix_connection(self.address)
            else:
                reader, writer = await asyncio.open_connection(*self.address)
        except (OSError, socket.gaierror) as error:
            return f"{self.shown} does not accept connections: {error.strerror or error}"
        try:
            if self.greets and not await reader.read(1):
                return f"{self.shown} closes connections at once"
        except ConnectionError as error:
            return f"{self.shown} closes connections at once: {error.strerror or error}"
        finally:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()
        return ""
