"""What can be done with the session that is shown."""

from betcode.tui.dialogs import Entry, KeyMenu
from betcode.tui.sessions.rows import called
from betcode.v1 import agent_pb2 as v1
from betcode.wording.terminal_text import one_line

_TITLE = 30
_ENTRIES = (
    (Entry("r", "rename"), "rename"),
    (Entry("f", "fork from its end"), "fork"),
    (Entry("h", "fork from what is shown here"), "fork_here"),
    (Entry("x", "export to a file"), "export"),
    (Entry("d", "what the last turn changed"), "diff"),
    (Entry("k", "compact the context"), "compact"),
    (Entry("b", "budget"), "budget"),
    (Entry("i", "copy its id"), "copy"),
    (Entry("c", "close: no further input"), "close"),
    (Entry("D", "delete with its history"), "delete"),
)
DEED_OF = {entry.key: deed for entry, deed in _ENTRIES}  # the key that was pressed, and what it stands for


def session_menu(one: v1.SessionSummary, can: v1.ProviderCapabilities | None) -> KeyMenu:
    return KeyMenu(one_line(called(one), _TITLE), offered(one, can))


def offered(one: v1.SessionSummary, can: v1.ProviderCapabilities | None) -> list[Entry]:
    """Without what a closed session does not take, and what its agent cannot do."""
    left_out = {"compact", "close"} if one.status == "closed" else set()
    if can is not None:
        left_out |= set() if can.fork else {"fork", "fork_here"}
        left_out |= set() if can.compaction else {"compact"}
    return [entry for entry, deed in _ENTRIES if deed not in left_out]
