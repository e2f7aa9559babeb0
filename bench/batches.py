"""Counting what a Follow stream brings without parsing it, so that the client's side costs as little as can be."""

from betcode.v1.agent_pb2 import IDLE, AgentEvent, FollowRequest

FOLLOW = "/betcode.v1.AgentService/Follow"
RESUME = "/betcode.v1.AgentService/ResumeSession"
OPTIONS = (
    ("grpc.use_local_subchannel_pool", 1),  # a connection of its own, as another program would have it
    ("grpc.max_receive_message_length", 64 * 1024 * 1024),
)
_KNOWN_AT_MOST = 4096
_LOOK_BACK = 8


def follow_request(session: str, after: int = 0) -> bytes:
    return FollowRequest(session_id=session, from_sequence=after).SerializeToString()


def resume_request(session: str) -> bytes:
    return FollowRequest(session_id=session).SerializeToString()  # the first two fields are the same


class Counter:
    """How many events each batch holds, and whether the turn ended with it; streams share what one has counted."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, bytes], tuple[int, bool]] = {}

    def count(self, batch: bytes) -> tuple[int, bool]:
        # A batch begins with its first event's number, so length and beginning tell it from every other of its log.
        key = (len(batch), batch[:48])
        known = self._known.get(key)
        if known is None:
            if len(self._known) >= _KNOWN_AT_MOST:
                self._known.clear()
            known = self._known[key] = _look_at(batch)
        return known


def _look_at(batch: bytes) -> tuple[int, bool]:
    events = walk(batch)
    # What is said of the turn's messages may follow its end in the same batch.
    ended = any(AgentEvent.FromString(event).status_change.status == IDLE for event in events[-_LOOK_BACK:])
    return len(events), ended


def walk(batch: bytes) -> list[bytes]:
    """The events of an AgentEventBatch as they are."""
    events: list[bytes] = []
    at, end = 0, len(batch)
    while at < end:
        at += 1  # the tag
        length = shift = 0
        while (byte := batch[at]) > 127:
            length |= (byte & 127) << shift
            shift += 7
            at += 1
        at += 1
        length |= byte << shift
        events.append(batch[at : at + length])
        at += length
    return events
