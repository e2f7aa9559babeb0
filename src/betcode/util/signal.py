"""A signal that wakes all tasks waiting for a change; each then checks the new state itself."""

import anyio


class ChangeSignal:
    """Wake waiting tasks. Notifying costs nothing while no task waits."""

    def __init__(self) -> None:
        self._changed: anyio.Event | None = None

    def notify(self) -> None:
        if self._changed is not None:
            self._changed.set()
            self._changed = None

    async def wait(self) -> None:
        """Return at the next `notify`."""
        self._changed = self._changed or anyio.Event()
        await self._changed.wait()
