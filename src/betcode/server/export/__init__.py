"""Export a session's history as one file: JSON with everything, Markdown and HTML for people.

Texts of agents and people are data: HTML escapes them, and nothing in the file is loaded or run. Callers provide the
events and check who may read them.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from functools import partial
from typing import Protocol

import anyio.to_thread

from betcode.domain.errors import InvalidRequest
from betcode.domain.store.rows import Batch
from betcode.server.export.html_page import HtmlPage
from betcode.server.export.json_file import JsonFile
from betcode.server.export.markdown import Markdown
from betcode.server.export.redaction import without_secrets
from betcode.v1 import agent_pb2 as v1

__all__ = ["FORMATS", "Exporter", "exported", "exporter_for"]

_PIECE_BYTES = 64 * 1024


class Exporter(Protocol):
    """Turns a history into text, from its beginning to its end."""

    def begin(self, session: v1.SessionSummary) -> str: ...
    def add(self, event: v1.AgentEvent) -> str: ...
    def end(self) -> str: ...


FORMATS: Mapping[str, Callable[[], Exporter]] = {"json": JsonFile, "markdown": Markdown, "html": HtmlPage}


def exporter_for(name: str) -> Exporter:
    """Return a new exporter for the format.

    Raises:
        InvalidRequest: there is no such format.
    """
    if name not in FORMATS:
        raise InvalidRequest(f"{name[:80]!r} is not an export format: use {', '.join(FORMATS)}")
    return FORMATS[name]()


async def exported(
    exporter: Exporter, session: v1.SessionSummary, batches: AsyncIterator[Batch], *, raw: bool = False
) -> AsyncGenerator[bytes, None]:
    """Yield the file in chunks. Secrets in tools' inputs are redacted unless `raw` is set.

    The text is made in a thread, because a long history must not delay anyone's turn.
    """
    for piece in _pieces(exporter.begin(session)):
        yield piece
    async for batch in batches:
        text = await anyio.to_thread.run_sync(partial(_text_of, exporter, batch, raw=raw))
        for piece in _pieces(text):
            yield piece
    for piece in _pieces(exporter.end()):
        yield piece


def _text_of(exporter: Exporter, batch: Batch, *, raw: bool) -> str:
    events = (v1.AgentEvent.FromString(data) for data in batch.events)
    return "".join(exporter.add(event if raw else without_secrets(event)) for event in events)


def _pieces(text: str) -> list[bytes]:
    data = text.encode()
    return [data[at : at + _PIECE_BYTES] for at in range(0, len(data), _PIECE_BYTES)]
