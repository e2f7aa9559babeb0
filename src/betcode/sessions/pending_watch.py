"""What waits for people in all sessions, as it changes: a look at the rows after each change, and what is different.

A watcher keeps the ids of what it was told and nothing else. Whoever reads slowly looks less often and is told what is
different by then; nobody waits for it.
"""

from collections.abc import AsyncGenerator
from dataclasses import dataclass

import anyio

from betcode.domain.identifiers import SessionId, SessionKey
from betcode.domain.ports import Store
from betcode.domain.rows import PromptRow

PAUSE_S = 0.05  # between two looks: what happens within it is told together


@dataclass(frozen=True, slots=True)
class Resolved:
    """A prompt that is open no more; without a row where its session was deleted."""

    session: SessionId
    request_id: str
    row: PromptRow | None


@dataclass(frozen=True, slots=True)
class PendingChanges:
    opened: tuple[tuple[SessionId, PromptRow], ...]
    resolved: tuple[Resolved, ...]


async def watch_pending(store: Store, session: SessionKey | None) -> AsyncGenerator[PendingChanges, None]:
    """First what is open, even if nothing is; then what was opened and resolved since. Hold it in `aclosing`."""
    told: dict[str, SessionId] = {}
    is_first = True
    while True:
        version = store.prompts_version
        rows = await store.open_prompts(session)
        opened = tuple((of, row) for of, row in rows if row.request_id not in told)
        still_open = {row.request_id for _, row in rows}
        gone = [(request_id, of) for request_id, of in told.items() if request_id not in still_open]
        resolved: list[Resolved] = []
        for request_id, of in gone:
            found = await store.find_prompt(request_id)
            resolved.append(Resolved(of, request_id, None if found is None else found[1]))
            del told[request_id]
        told.update((row.request_id, of) for of, row in opened)
        del rows, still_open  # they may be large, and the next look is far
        if opened or resolved or is_first:
            is_first = False
            yield PendingChanges(opened, tuple(resolved))
        await store.prompts_changed(version)
        await anyio.sleep(PAUSE_S)
