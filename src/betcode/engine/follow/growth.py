"""Report which logs have grown, to readers that follow many sessions and read each log themselves."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from betcode.domain.values.identifiers import Seq, SessionId, SessionKey
from betcode.util.watch_board import Watch, WatchBoard

_WAITING_LIMIT = 1_000


@dataclass(frozen=True, slots=True)
class GrownLogs:
    """A session's log has something behind `after`."""

    session: SessionId
    key: SessionKey
    after: Seq


@dataclass(frozen=True, slots=True)
class NewReport:
    """Another program has reported something."""


GrowthItem: TypeAlias = GrownLogs | NewReport
GrowthWatch: TypeAlias = Watch[SessionId, GrowthItem]


class Growth(WatchBoard[SessionId, GrowthItem]):
    """The readers; a slow one costs one entry per session at most."""

    def __init__(self) -> None:
        super().__init__(_first_of_each_session, _WAITING_LIMIT)

    def note(self, grown: GrownLogs) -> None:
        self.publish(grown.session, grown)

    def note_report(self) -> None:
        self.publish(None, NewReport())


def _first_of_each_session(items: Iterable[GrowthItem]) -> Iterable[GrowthItem]:
    """The reader continues from the first position; one report stands for all."""
    first: dict[SessionId | None, GrowthItem] = {}
    for item in items:
        first.setdefault(item.session if isinstance(item, GrownLogs) else None, item)
    return first.values()
