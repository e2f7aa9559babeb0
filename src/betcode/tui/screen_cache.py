"""Caches the screens of recently shown sessions, so that switching is immediate."""

from collections import OrderedDict
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from betcode.tui.session_screen import SessionScreen

_SCREENS = 5
_BLOCKS = 20_000  # in all conversations together: some tens of megabytes


class ScreenCache:
    """Holds a few screens of limited total size; those shown longest ago are closed first."""

    def __init__(self) -> None:
        self._screens: OrderedDict[str, SessionScreen] = OrderedDict()

    def get(self, session_id: str) -> "SessionScreen | None":
        """Return the screen of a session that has not ended."""
        screen = self._screens.get(session_id)
        return screen if screen is not None and not screen.has_failed else None

    def add(self, screen: "SessionScreen") -> "Iterator[SessionScreen]":
        """Add the screen as the newest; yield the screens to close."""
        before = self._screens.pop(screen.session_id, None)
        if before is not None and before is not screen:
            yield before
        self._screens[screen.session_id] = screen
        while len(self._screens) > 1 and (
            len(self._screens) > _SCREENS or sum(each.length for each in self._screens.values()) > _BLOCKS
        ):
            yield self._screens.popitem(last=False)[1]
