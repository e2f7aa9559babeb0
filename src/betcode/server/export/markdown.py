"""Export the history as Markdown. Content is quoted, so that it cannot pass for a heading or for another author.

It is data: it cannot load or run anything in a reader, and no escape sequence reaches a terminal.
"""

import re

from betcode.server.export.control_characters import made_visible
from betcode.server.export.entries import EntryKind, HistoryEntries, HistoryEntry, facts_of, title_of
from betcode.server.export.prose import harmless
from betcode.v1 import agent_pb2 as v1

_FENCES = re.compile("`{3,}")
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|!&~])")


class Markdown:
    """Prose in quotes, what tools got and gave in fences."""

    def __init__(self) -> None:
        self._entries = HistoryEntries()

    def begin(self, session: v1.SessionSummary) -> str:
        facts = "".join(f"- {name}: {_plain(value)}\n" for name, value in facts_of(session).items())
        return f"# {_plain(title_of(session))}\n\n{facts}\n"

    def add(self, event: v1.AgentEvent) -> str:
        return "".join(map(_shown, self._entries.of(event)))

    def end(self) -> str:
        return "".join(map(_shown, self._entries.rest()))


def _shown(entry: HistoryEntry) -> str:
    at = f" ({entry.at})" if entry.at else ""
    match entry.kind:
        case EntryKind.USER | EntryKind.AGENT:
            return f"## {_plain(entry.heading)}{at}\n\n{_quoted(entry.text)}\n\n"
        case EntryKind.TOOL | EntryKind.RESULT:
            return f"### {_plain(entry.heading)}{at}\n\n{_fenced(entry.text)}\n\n"
        case EntryKind.NOTE:
            return f"*{_plain(entry.heading)}*: {_plain(entry.text)}\n\n"


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in harmless(made_visible(text)).split("\n"))


def _fenced(text: str) -> str:
    """In a fence that is longer than any inside it."""
    text = made_visible(text)
    longest = max((len(fence) for fence in _FENCES.findall(text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}text\n{text}\n{fence}"


def _plain(text: str) -> str:
    """Return the text on one line, with Markdown characters escaped."""
    return _SPECIAL.sub(r"\\\1", made_visible(" ".join(text.split())))
