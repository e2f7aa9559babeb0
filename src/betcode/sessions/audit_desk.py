"""The audit as people ask for it: which decisions were made, and whether the rows are still what was written."""

from collections.abc import AsyncGenerator, Sequence

from betcode.domain.audit import AuditFilter, AuditRow, Checked, Noted
from betcode.sessions.room import Room

_PAGE_ROWS = 500
_CHECKED_AT_ONCE = 2000  # some milliseconds of a reader's time


class AuditDesk:
    """Part of the engine's front door."""

    def __init__(self, room: Room) -> None:
        self._room = room

    async def rows(self, which: AuditFilter) -> AsyncGenerator[Sequence[AuditRow], None]:
        """What is wanted, the oldest first, a page at a time. Hold it in `aclosing`."""
        after: int | None = None
        left = which.newest or None  # rows that are added meanwhile are not among the newest that were asked for
        while left is None or left > 0:
            limit = _PAGE_ROWS if left is None else min(left, _PAGE_ROWS)
            page = await self._room.store.audit_page(which, after, limit)
            if page:
                yield page
                after = page[-1].number
            if len(page) < limit:
                return
            left = None if left is None else left - len(page)

    async def verify(self, noted: Noted | None = None) -> AsyncGenerator[Checked, None]:
        """Compare every row with its hash, some at a time; the last is the result. Hold it in `aclosing`."""
        checked = Checked()
        while not checked.complete:
            checked = await self._room.store.check_audit(checked, _CHECKED_AT_ONCE, noted)
            yield checked
