"""Wake-up signals between tasks of one event loop.

`ChangeSignal` wakes every waiting task; each checks the new state itself. `ResettableEvent` is for one waiting task: a
signal that arrives while the task is busy stays set until the task clears it. Use `anyio.Event` for something that
happens only once.
"""

import anyio
import anyio.lowlevel


class ChangeSignal:
    """Wake waiting tasks. Notifying costs nothing while no task waits."""

    __slots__ = ("_changed",)

    def __init__(self) -> None:
        self._changed: anyio.Event | None = None

    def notify(self) -> None:
        if self._changed is not None:
            self._changed.set()
            self._changed = None

    async def wait(self) -> None:
        """Return at the next `notify`."""
        if self._changed is None:
            self._changed = anyio.Event()
        await self._changed.wait()


class ResettableEvent:
    """An event that can be cleared and set again."""

    __slots__ = ("_is_set", "_signal")

    def __init__(self) -> None:
        self._is_set = False
        self._signal = ChangeSignal()

    def is_set(self) -> bool:
        return self._is_set

    def set(self) -> None:
        self._is_set = True
        self._signal.notify()

    def clear(self) -> None:
        self._is_set = False

    async def wait(self) -> None:
        """Return at once if it is set, otherwise at the next `set`, even if it is cleared again meanwhile."""
        if self._is_set:
            await anyio.lowlevel.checkpoint()
        else:
            await self._signal.wait()
