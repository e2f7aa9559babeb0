"""The menu of actions on the session that is shown."""

from betcode.tui.sessions.rows import called
from betcode.tui.widgets.dialogs import KeyMenu, MenuEntry
from betcode.v1 import agent_pb2 as v1
from betcode.wording.terminal_text import one_line

_TITLE = 30
_ENTRIES = (
    (MenuEntry("r", "rename"), "rename"),
    (MenuEntry("f", "fork from the end"), "fork"),
    (MenuEntry("h", "fork from the turn shown"), "fork_here"),
    (MenuEntry("x", "export to a file"), "export"),
    (MenuEntry("d", "diff of the last turn"), "diff"),
    (MenuEntry("k", "compact the context"), "compact"),
    (MenuEntry("b", "budget"), "budget"),
    (MenuEntry("i", "copy the id"), "copy"),
    (MenuEntry("c", "close: no further input"), "close"),
    (MenuEntry("D", "delete with its history"), "delete"),
)
ACTION_OF = {entry.key: action for entry, action in _ENTRIES}  # from the key of an entry to its action


def session_menu(one: v1.SessionSummary, can: v1.ProviderCapabilities | None) -> KeyMenu:
    return KeyMenu(one_line(called(one), _TITLE), offered(one, can))


def offered(one: v1.SessionSummary, can: v1.ProviderCapabilities | None) -> list[MenuEntry]:
    """Return the entries that the session's state and its agent allow."""
    omitted = {"compact", "close"} if one.status == "closed" else set()
    if can is not None:
        omitted |= set() if can.fork else {"fork", "fork_here"}
        omitted |= set() if can.compaction else {"compact"}
    return [entry for entry, action in _ENTRIES if action not in omitted]
