"""A bell for those who wait until something has changed, and look for themselves at what."""

import anyio


class ChangeSignal:
    """Costs nothing while nobody waits."""

    def __init__(self) -> None:
        self._rung: anyio.Event | None = None

    def notify(self) -> None:
        if self._rung is not None:
            self._rung.set()
            self._rung = None

    async def wait(self) -> None:
        """Return when it is rung next."""
        self._rung = self._rung or anyio.Event()
        await self._rung.wait()
