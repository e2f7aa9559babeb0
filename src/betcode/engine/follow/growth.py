"""Report which logs have grown, to readers that follow many sessions and read each log themselves."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from betcode.domain.values.identifiers import Seq, SessionId, SessionKey
from betcode.util.signal import ChangeSignal


@dataclass(frozen=True, slots=True)
class GrownLogs:
    """A session's log has something behind `after`."""

    session: SessionId
    key: SessionKey
    after: Seq


class GrowthWatch:
    """What one reader has still to look at; however slow it is, it costs one entry per session."""

    def __init__(self, session: SessionId | None) -> None:
        self.session = session
        self.reports = False  # something was reported by another program
        self._bell = ChangeSignal()
        self._grown: dict[SessionId, GrownLogs] = {}

    def note(self, grown: GrownLogs) -> None:
        self._grown.setdefault(grown.session, grown)
        self._bell.notify()

    def note_report(self) -> None:
        self.reports = True
        self._bell.notify()

    async def take(self) -> list[GrownLogs]:
        """The logs that have grown, as soon as there is one, or a report."""
        while not self._grown and not self.reports:
            await self._bell.wait()
        taken, self._grown = list(self._grown.values()), {}
        return taken


@dataclass(slots=True)
class Growth:
    """Costs nothing while nobody watches."""

    _watches: set[GrowthWatch] = field(default_factory=set)

    def note(self, grown: GrownLogs) -> None:
        for watch in self._watches:
            if watch.session in (None, grown.session):
                watch.note(grown)

    def note_report(self) -> None:
        for watch in self._watches:
            watch.note_report()

    @property
    def is_watched(self) -> bool:
        return bool(self._watches)

    @contextmanager
    def watching(self, session: SessionId | None) -> Iterator[GrowthWatch]:
        """Everything that is written from here on, of one session or of all."""
        watch = GrowthWatch(session)
        self._watches.add(watch)
        try:
            yield watch
        finally:
            self._watches.discard(watch)
