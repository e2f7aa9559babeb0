"""Formats a session as one line."""

from datetime import UTC, datetime
from pathlib import PurePath

from betcode.tui.sessions.directory import waits_for_person
from betcode.v1 import agent_pb2 as v1
from betcode.wording.money import dollars
from betcode.wording.pending import session_state
from betcode.wording.terminal_text import one_line, padded, without_marks
from betcode.wording.times import age

_NARROW = 60
_WIDE = 90
_STATE, _AGE, _COST, _LOCATION_WIDTH = 15, 10, 8, 18


def mark(one: v1.SessionSummary) -> str:
    """Return one letter for the state, which needs no colour."""
    if waits_for_person(one):
        return "?"
    return {"active": "●", "closed": "✗"}.get(one.status, "○")


def called(one: v1.SessionSummary) -> str:
    """Return its name, its last message, or its directory."""
    return one.name or without_marks(one.last_message_preview) or f"new, in {PurePath(one.working_directory).name}"


def location(one: v1.SessionSummary) -> str:
    """Return its worktree, or the last part of its directory."""
    return one.worktree_name or PurePath(one.working_directory).name


def headed(one: v1.SessionSummary, opening: str) -> str:
    """Return its heading while it is open: its name, or its directory and its first message if that is known.

    The last message is not used: it is visible below and changes all the time.
    """
    return one.name or " · ".join(filter(None, (location(one), opening)))


def row(one: v1.SessionSummary, number: int, now: datetime, width: int) -> str:
    """Return the row, cut to fit; the name or last message gets the remaining width."""
    ago = age(now - one.updated_at.ToDatetime(UTC))
    head = f"{number or ' '} {mark(one)} "
    if width < _NARROW:
        short = ago.removesuffix(" ago").replace(" ", "").replace("min", "m")
        return head + padded(one_line(short, 4), 5) + one_line(called(one), max(width - len(head) - 5, 1))
    cells = [padded(one_line(session_state(one, now), _STATE), _STATE), padded(ago, _AGE)]
    if width >= _WIDE:
        cells.append(padded(dollars(one.total_cost_usd), _COST))
        cells.append(padded(one_line(location(one), _LOCATION_WIDTH), _LOCATION_WIDTH))
    line = head + "  ".join(cells) + "  "
    return line + one_line(called(one), max(width - sum(len(cell) + 2 for cell in cells) - len(head), 1))
