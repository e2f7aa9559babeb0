"""Tells those who wait for it that a prompt was written."""

import anyio


class PromptBell:
    """Counts; who waits sees the newest count, however many there were."""

    def __init__(self) -> None:
        self.version = 0
        self._rung = anyio.Event()

    def ring(self) -> None:
        self.version += 1
        rung, self._rung = self._rung, anyio.Event()
        rung.set()

    async def changed(self, since: int) -> None:
        """Return when the version is another."""
        while self.version == since:
            await self._rung.wait()
