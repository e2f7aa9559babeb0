"""Publish phase changes of sessions. Every watcher gets all changes; a slow one gets them merged."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TypeAlias

from betcode.domain.sessions.phase import Transition
from betcode.domain.values.identifiers import SessionId
from betcode.util.watch_board import Watch, WatchBoard

WAITING_LIMIT = 1_000  # transitions that a watcher has not taken; past it those of one session become one

PhaseWatch: TypeAlias = Watch[SessionId, Transition]


class PhaseBoard(WatchBoard[SessionId, Transition]):
    """The watchers of phases; a slow one costs one entry per session at most."""

    def __init__(self) -> None:
        super().__init__(summed_up, WAITING_LIMIT)

    def tell(self, transition: Transition) -> None:
        self.publish(transition.session, transition)


def summed_up(transitions: Iterable[Transition]) -> Iterator[Transition]:
    """One for each session, from its first phase to its last; none if these are equal."""
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
