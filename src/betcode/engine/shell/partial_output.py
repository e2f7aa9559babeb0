"""Record the unfinished output of an agent whose turn was cancelled."""

import logging

from betcode.domain.errors import StorageDegraded, StorageFailed
from betcode.domain.store.rows import NO_SEQ
from betcode.domain.store.store_ports import EventStore
from betcode.domain.values.identifiers import Seq, SessionKey
from betcode.engine.core import events
from betcode.engine.core.counters import KIND_OF
from betcode.v1 import agent_pb2 as v1

logger = logging.getLogger(__name__)

_READ_BYTES = 256 * 1024
_Key = tuple[str, int, bool]  # message, block, whether it is thinking


async def cut_short(store: EventStore, session: SessionKey, newest: Seq) -> list[v1.AgentEvent]:
    """Settled texts, marked as partial, of what was shown by deltas alone since the last turn that ended."""
    said: dict[_Key, list[str]] = {}
    try:
        ended = await store.newest_of_kind(session, KIND_OF["turn_complete"], newest)
        after = NO_SEQ if ended is None else Seq(v1.AgentEvent.FromString(ended).sequence)
        while batch := await store.read_events(session, after, _READ_BYTES):
            for data in batch.events:
                _note(v1.AgentEvent.FromString(data), said)
            after = batch.last
    except (StorageDegraded, StorageFailed):
        # The words are there, only unmarked; the agent's end matters more.
        logger.exception("the output of a cancelled turn could not be read", extra={"session": session})
        return []
    return [
        events.partial_text("".join(pieces), message_id, block, thinking=thinking)
        for (message_id, block, thinking), pieces in said.items()
    ]


def _note(event: v1.AgentEvent, said: dict[_Key, list[str]]) -> None:
    kind = event.WhichOneof("event")
    if kind not in ("text_delta", "thinking_delta") or event.parent_tool_use_id:
        return
    delta = event.text_delta if kind == "text_delta" else event.thinking_delta
    key = (delta.message_id, delta.block, kind == "thinking_delta")
    if delta.is_complete:
        said.pop(key, None)
    else:
        said.setdefault(key, []).append(delta.text)
