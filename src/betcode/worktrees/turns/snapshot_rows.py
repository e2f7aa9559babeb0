"""Decide which snapshot rows follow from a read of the tree. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from betcode.domain.repositories.worktrees import TurnSnapshot
from betcode.domain.values.identifiers import SessionKey

_LATE_NS = 5_000_000_000
_USED_TOOL = "the snapshot of the beginning is late: a tool was used before the tree was read"
_NEXT_DAEMON = "the snapshot of the end is late: the next daemon made it"


@dataclass(slots=True)
class TurnBegan:
    """A turn has begun, and a snapshot is required."""

    turn: int
    used_tool: bool = False  # before the snapshot


@dataclass(frozen=True, slots=True)
class TurnsEnded:
    """Turns are over, usually one."""

    first: int
    last: int
    at_ns: int  # 0: unknown, under an earlier daemon


@dataclass(frozen=True, slots=True)
class TreeSnapshot:
    """The result of reading the tree."""

    session: SessionKey
    at_ns: int  # when it began
    tree: str  # empty: there is none
    top: str = ""
    note: str = ""  # files that are not in the tree
    trouble: str = ""  # why there is none


def rows_after(
    wish: TurnBegan | TurnsEnded, rows: Mapping[int, TurnSnapshot], look: TreeSnapshot
) -> list[TurnSnapshot]:
    """Return the rows that follow from one request, in addition to the existing ones."""
    return [_begun(wish, rows, look)] if isinstance(wish, TurnBegan) else _ended(wish, rows, look)


def _begun(wish: TurnBegan, rows: Mapping[int, TurnSnapshot], look: TreeSnapshot) -> TurnSnapshot:
    known = rows.get(wish.turn)
    if known is not None and known.start_tree:
        return replace(known, end_tree="", ended_ns=0)  # it continues: its changes so far count
    notes = each_once(
        look.note,
        _USED_TOOL if wish.used_tool else "",
        look.trouble and f"there is no snapshot of the beginning: {look.trouble}",
    )
    return TurnSnapshot(look.session, wish.turn, look.top, look.tree, started_ns=look.at_ns, note=notes)


def _ended(wish: TurnsEnded, rows: Mapping[int, TurnSnapshot], look: TreeSnapshot) -> list[TurnSnapshot]:
    row = rows.get(wish.first)
    if row is None or not row.start_tree:
        row = _without_beginning(wish.first, rows, look)
    notes = each_once(
        row.note, look.note, _late(wish, look), look.trouble and f"there is no snapshot of the end: {look.trouble}"
    )
    ended_ns = wish.at_ns or look.at_ns
    ended = replace(row, top=look.top or row.top, end_tree=look.tree, ended_ns=ended_ns, note=notes)
    with_it = f"it is shown with turn {wish.first}: both ended before the tree was read"
    return [
        ended,
        *(
            TurnSnapshot(look.session, turn, look.top, look.tree, look.tree, look.at_ns, look.at_ns, with_it)
            for turn in range(wish.first + 1, wish.last + 1)
        ),
    ]


def _late(wish: TurnsEnded, look: TreeSnapshot) -> str:
    if not wish.at_ns:
        return _NEXT_DAEMON
    late_ns = look.at_ns - wish.at_ns
    return f"the snapshot of the end is late: {late_ns // 1_000_000_000} s after the turn" if late_ns > _LATE_NS else ""


def _without_beginning(turn: int, rows: Mapping[int, TurnSnapshot], look: TreeSnapshot) -> TurnSnapshot:
    """Return a row for a turn without a snapshot of its beginning: the end of the turn before is the nearest."""
    before = rows.get(turn - 1)
    known = rows.get(turn) or TurnSnapshot(look.session, turn, look.top)
    if before is None or not before.end_tree:
        return known if known.note else replace(known, note="there is no snapshot of the beginning")
    instead = f"compared with the end of turn {before.turn}"
    notes = each_once(known.note or "there is no snapshot of the beginning", instead)
    return replace(known, start_tree=before.end_tree, started_ns=before.ended_ns, note=notes)


def each_once(*notes: str) -> str:
    """Each of them once."""
    said = [each for note in notes for each in note.split("; ") if each]
    return "; ".join(dict.fromkeys(said))
