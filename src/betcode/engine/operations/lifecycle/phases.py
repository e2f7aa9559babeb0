"""Publish phase changes of sessions. Every watcher gets all changes; a slow one gets them merged."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from betcode.domain.sessions.phase import Transition
from betcode.domain.values.identifiers import SessionId
from betcode.util.signal import ChangeSignal

WAITING_LIMIT = 1_000  # transitions that nobody has fetched; past it those of one session become one


class PhaseWatch:
    """What one watcher has still to hear, in order. However slow it is, it costs one entry per session at most."""

    def __init__(self, session: SessionId | None) -> None:
        self.session = session
        self._bell = ChangeSignal()
        self._waiting: list[Transition] = []
        self._squeeze_at = WAITING_LIMIT

    def put(self, transition: Transition) -> None:
        self._waiting.append(transition)
        if len(self._waiting) > self._squeeze_at:
            self._waiting = list(summed_up(self._waiting))
            self._squeeze_at = max(WAITING_LIMIT, 2 * len(self._waiting))
        self._bell.notify()

    async def take(self) -> Transition:
        """The next one, as soon as there is one."""
        while not self._waiting:
            await self._bell.wait()
        return self._waiting.pop(0)

    def __len__(self) -> int:
        return len(self._waiting)


@dataclass(slots=True)
class PhaseBoard:
    """Costs nothing while nobody watches."""

    _watches: set[PhaseWatch] = field(default_factory=set)

    def tell(self, transition: Transition) -> None:
        for watch in self._watches:
            if watch.session in (None, transition.session):
                watch.put(transition)

    @contextmanager
    def watching(self, session: SessionId | None) -> Iterator[PhaseWatch]:
        """Everything that happens from here on, to one session or to all."""
        watch = PhaseWatch(session)
        self._watches.add(watch)
        try:
            yield watch
        finally:
            self._watches.discard(watch)


def summed_up(transitions: Iterable[Transition]) -> Iterator[Transition]:
    """One for each session, from where it was to where it came; none where that is the same."""
    sums: dict[SessionId, list[Transition]] = {}
    for each in transitions:
        sums.setdefault(each.session, []).append(each)
    for chain in sums.values():
        first, last = chain[0], chain[-1]
        if len(chain) == 1:
            yield first
        elif first.before is not last.after:
            words = f"{last.words} (the last of {len(chain)} changes)"
            yield replace(last, before=first.before, words=words)
