"""The tasks of one session: started here and nowhere else, so that an unexpected error in one ends no other session."""

from collections.abc import Awaitable, Callable
from typing import TypeVarTuple

import anyio
from anyio.abc import TaskGroup

from betcode.domain.errors import SessionFailed
from betcode.domain.values.identifiers import SessionId
from betcode.engine.fault_points import FaultPoint, Faults
from betcode.util.signal import ChangeSignal

Ts = TypeVarTuple("Ts")


class SessionTasks:
    """Runs them in the engine's task group, each behind the same guard; `cancel` ends all of them."""

    def __init__(
        self, group: TaskGroup, session_id: SessionId, faults: Faults, on_error: Callable[[str, Exception], None]
    ) -> None:
        self._group = group
        self._session_id = session_id
        self._faults = faults
        self._on_error = on_error
        self._scopes: set[anyio.CancelScope] = set()
        self._ended = ChangeSignal()

    @property
    def is_idle(self) -> bool:
        return not self._scopes

    def start_soon(self, place: FaultPoint, work: Callable[[*Ts], Awaitable[object]], *args: *Ts) -> None:
        """Run `work` as a task of the session; an exception in it is reported and goes no further."""
        scope = anyio.CancelScope()
        self._scopes.add(scope)
        self._group.start_soon(self._run, scope, place, lambda: work(*args), name=f"{place} of {self._session_id}")

    async def complete(self, place: FaultPoint, work: Callable[[*Ts], Awaitable[object]], *args: *Ts) -> None:
        """Like `start_soon`, and wait for the end. A caller that is cancelled meanwhile leaves the task running.

        Raises:
            SessionFailed: the task failed, or was cancelled because another one of the session did.
        """
        ended = anyio.Event()
        completed = False

        async def run() -> None:
            nonlocal completed
            await work(*args)
            completed = True

        scope = anyio.CancelScope()
        self._scopes.add(scope)
        name = f"{place} of {self._session_id}"
        self._group.start_soon(self._run, scope, place, run, ended.set, name=name)
        await ended.wait()
        if not completed:
            raise SessionFailed(self._session_id, f"an internal error stopped it ({place})")

    def cancel(self) -> None:
        """End every task that runs now."""
        for scope in self._scopes:
            scope.cancel()

    async def wait_cancelled(self, within_s: float) -> bool:
        """Wait until the tasks that were cancelled have ended; False where one has not in time."""
        cancelled = frozenset(scope for scope in self._scopes if scope.cancel_called)
        with anyio.move_on_after(within_s):
            while not cancelled.isdisjoint(self._scopes):
                await self._ended.wait()
        return cancelled.isdisjoint(self._scopes)

    async def _run(
        self,
        scope: anyio.CancelScope,
        place: FaultPoint,
        work: Callable[[], Awaitable[object]],
        then: Callable[[], None] = lambda: None,
    ) -> None:
        try:
            with scope:
                self._faults(place, self._session_id)
                await work()
        except Exception as error:  # noqa: BLE001 - whatever it is, it concerns this session alone
            self._on_error(place, error)
        finally:
            self._scopes.discard(scope)
            self._ended.notify()
            then()
