"""What an agent had begun to say when its turn was cancelled and it could not settle it any more."""

from betcode.domain.identifiers import Seq, SessionKey
from betcode.domain.ports import Store
from betcode.sessions import events
from betcode.v1 import agent_pb2 as v1

_READ_BYTES = 256 * 1024
_Key = tuple[str, int, bool]  # message, block, whether it is thinking


async def cut_short(store: Store, session: SessionKey, after: Seq) -> list[v1.AgentEvent]:
    """Settled texts, marked as partial, of what was shown after a position by deltas alone."""
    said: dict[_Key, list[str]] = {}
    while batch := await store.read_events(session, after, _READ_BYTES):
        for data in batch.events:
            _note(v1.AgentEvent.FromString(data), said)
        after = batch.last
    return [
        events.partial_text("".join(pieces), message_id, block, thinking=thinking)
        for (message_id, block, thinking), pieces in said.items()
    ]


def _note(event: v1.AgentEvent, said: dict[_Key, list[str]]) -> None:
    kind = event.WhichOneof("event")
    if kind == "turn_complete":
        said.clear()
    if kind not in ("text_delta", "thinking_delta") or event.parent_tool_use_id:
        return
    delta = event.text_delta if kind == "text_delta" else event.thinking_delta
    key = (delta.message_id, delta.block, kind == "thinking_delta")
    if delta.is_complete:
        said.pop(key, None)
    else:
        said.setdefault(key, []).append(delta.text)
