"""Counting what a Follow stream brings without parsing it, so that the client's side costs as little as can be."""

from dataclasses import dataclass

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


@dataclass(frozen=True, slots=True)
class Seen:
    """What one batch holds."""

    events: int
    said_ns: int  # when the agent said the first delta of it, by the clock of all processes; 0: it says nothing here
    ended: bool  # the turn did


class Counter:
    """What each batch holds; streams share what one has counted."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, bytes], Seen] = {}

    def count(self, batch: bytes) -> Seen:
        # A batch begins with its first event's number, so length and beginning tell it from every other of its log.
        key = (len(batch), batch[:48])
        known = self._known.get(key)
        if known is None:
            if len(self._known) >= _KNOWN_AT_MOST:
                self._known.clear()
            known = self._known[key] = _look_at(batch)
        return known


def _look_at(batch: bytes) -> Seen:
    events = walk(batch)
    # What is said of the turn's messages may follow its end in the same batch.
    ended = any(AgentEvent.FromString(event).status_change.status == IDLE for event in events[-_LOOK_BACK:])
    return Seen(len(events), next(filter(None, map(_said_ns, events)), 0), ended)


def _said_ns(event: bytes) -> int:
    """The time that a delta of the demo agent's flood carries; 0 for everything else, who is present for one."""
    delta = AgentEvent.FromString(event).text_delta
    return int(delta.text.split(" ", 2)[1]) if delta.text and not delta.is_complete else 0


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
