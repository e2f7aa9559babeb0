"""Signal to waiting tasks which prompts were written."""

from collections import deque
from collections.abc import Sequence

from betcode.util.signal import ChangeSignal

_REMEMBERED = 256  # notifications


class PromptSignal:
    """A version that grows with every write; waiting tasks see the newest one."""

    def __init__(self) -> None:
        self.version = 0
        self._changed = ChangeSignal()
        self._written: deque[Sequence[str] | None] = deque(maxlen=_REMEMBERED)  # the newest at the end

    def notify(self, request_ids: Sequence[str] | None = None) -> None:
        """Report that these prompts were written; None: unknown which."""
        self.version += 1
        self._written.append(request_ids)
        self._changed.notify()

    def since(self, version: int) -> list[str] | None:
        """The prompts that were written after that version, each once; None if they are no longer known."""
        number = self.version - version
        if number > len(self._written):
            return None
        written: dict[str, None] = {}
        for request_ids in list(self._written)[len(self._written) - number :]:
            if request_ids is None:
                return None
            written |= dict.fromkeys(request_ids)
        return list(written)

    async def changed(self, since: int) -> None:
        """Return when the version is another."""
        while self.version == since:
            await self._changed.wait()
