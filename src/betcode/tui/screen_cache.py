"""Caches the screens of recently shown sessions, so that switching is immediate."""

from collections import OrderedDict
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from betcode.tui.session_screen import SessionScreen

_SCREENS = 5
_BLOCKS = 20_000  # of all their conversations together: some tens of megabytes


class ScreenCache:
    """Few, and not too long together; those that have not been looked at for longest go first."""

    def __init__(self) -> None:
        self._screens: OrderedDict[str, SessionScreen] = OrderedDict()

    def get(self, session_id: str) -> "SessionScreen | None":
        """One whose session goes on."""
        screen = self._screens.get(session_id)
        return screen if screen is not None and not screen.has_failed else None

    def keep(self, screen: "SessionScreen") -> "Iterator[SessionScreen]":
        """This is the newest; those that are not kept any longer are given back, to be closed."""
        before = self._screens.pop(screen.session_id, None)
        if before is not None and before is not screen:
            yield before
        self._screens[screen.session_id] = screen
        while len(self._screens) > 1 and (
            len(self._screens) > _SCREENS or sum(each.length for each in self._screens.values()) > _BLOCKS
        ):
            yield self._screens.popitem(last=False)[1]
