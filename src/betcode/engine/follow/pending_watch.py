"""Watch the pending prompts of all sessions, and report what changed since the last check.

A watcher keeps the ids of what it was told and nothing else. Whoever reads slowly looks less often and is told what is
different by then; nobody waits for it.
"""

from collections.abc import AsyncGenerator, Iterable, Mapping
from dataclasses import dataclass

import anyio

from betcode.domain.store.rows import PromptRow, PromptState
from betcode.domain.store.store_ports import PromptWatchStore
from betcode.domain.values.identifiers import SessionId, SessionKey

_LOOKED_FOR_AT_MOST = 100  # one by one; more are read together
PAUSE_S = 0.05  # between two looks: what happens within it is told together


@dataclass(frozen=True, slots=True)
class ResolvedPrompt:
    """A prompt that is open no more; without a row where its session was deleted."""

    session: SessionId
    request_id: str
    row: PromptRow | None


@dataclass(frozen=True, slots=True)
class PendingChanges:
    opened: tuple[tuple[SessionId, PromptRow], ...]
    resolved: tuple[ResolvedPrompt, ...]


async def watch_pending(store: PromptWatchStore, session: SessionKey | None) -> AsyncGenerator[PendingChanges, None]:
    """First what is open, even if nothing is; then what was opened and resolved since. Hold it in `aclosing`."""
    told: dict[str, SessionId] = {}
    seen: int | None = None
    while True:
        is_first, version = seen is None, store.prompts_version
        written = None if seen is None else store.prompts_since(seen)
        if written is None or len(written) > _LOOKED_FOR_AT_MOST:
            look = await _look_at_all(store, session, told)
        else:
            look = await _look_for(store, session, written, told)
        seen = version
        for resolved in look.resolved:
            del told[resolved.request_id]
        told.update((row.request_id, of) for of, row in look.opened)
        if look.opened or look.resolved or is_first:
            yield look
        del look  # it may be large, and the next one is far
        await store.prompts_changed(version)
        await anyio.sleep(PAUSE_S)


async def _look_for(
    store: PromptWatchStore, session: SessionKey | None, written: Iterable[str], told: Mapping[str, SessionId]
) -> PendingChanges:
    """What is different about these; the others are as they were."""
    opened: list[tuple[SessionId, PromptRow]] = []
    resolved: list[ResolvedPrompt] = []
    for request_id in written:
        found = await store.find_prompt(request_id)
        is_open = found is not None and found[1].state is PromptState.OPEN
        if request_id in told and not is_open:
            resolved.append(ResolvedPrompt(told[request_id], request_id, None if found is None else found[1]))
        elif found is not None and is_open and request_id not in told and session in (None, found[1].session):
            opened.append(found)
    return PendingChanges(tuple(opened), tuple(resolved))


async def _look_at_all(
    store: PromptWatchStore, session: SessionKey | None, told: Mapping[str, SessionId]
) -> PendingChanges:
    rows = await store.open_prompts(session)
    opened = tuple((of, row) for of, row in rows if row.request_id not in told)
    still_open = {row.request_id for _, row in rows}
    resolved: list[ResolvedPrompt] = []
    for request_id, of in told.items():
        if request_id not in still_open:
            found = await store.find_prompt(request_id)
            resolved.append(ResolvedPrompt(of, request_id, None if found is None else found[1]))
    return PendingChanges(opened, tuple(resolved))
