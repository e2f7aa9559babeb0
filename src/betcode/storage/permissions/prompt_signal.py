"""Signal to waiting tasks which prompts were written."""

from collections import deque
from collections.abc import Sequence

from betcode.util.signal import ChangeSignal

_REMEMBERED = 256  # rings


class PromptBell:
    """Counts; who waits sees the newest count, however many there were."""

    def __init__(self) -> None:
        self.version = 0
        self._rung = ChangeSignal()
        self._written: deque[Sequence[str] | None] = deque(maxlen=_REMEMBERED)  # the newest rings, the last at the end

    def ring(self, request_ids: Sequence[str] | None = None) -> None:
        """These prompts were written; None: it is not known which."""
        self.version += 1
        self._written.append(request_ids)
        self._rung.notify()

    def since(self, version: int) -> list[str] | None:
        """The prompts that were written behind that version, each once; None: that is not known any more."""
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
            await self._rung.wait()
