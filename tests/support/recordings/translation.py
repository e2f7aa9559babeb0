"""What one undisturbed reading of a journal gives, to hold a log against it."""

from collections.abc import Iterable, Sequence

from betcode.domain.events.size_limit import bound
from betcode.domain.ports import Provider
from betcode.domain.runs.journal_record import Record
from betcode.domain.store.rows import NewSession
from betcode.domain.values.identifiers import SessionId
from betcode.v1 import agent_pb2 as v1

# What the engine says of itself: messages it accepted, answers it took, runs it began.
_OF_THE_ENGINE = ("user_input", "presence")
# And what it adds to the prompts of an agent.
_ADDED_TO_PROMPTS = frozenset({"note", "supersedes", "expires_at", "grant_offers", "segments", "deciding_rule"})


def undisturbed(provider: Provider, session_id: str, directory: str, records: Iterable[Record]) -> list[v1.AgentEvent]:
    """The events of all records, read once from the beginning to the end."""
    new = NewSession(SessionId(session_id), provider=provider.name, working_directory=directory)
    dialogue = provider.dialogue(new, session_id)
    return [bound(event)[0] for record in records for event in dialogue.receive(record)]


def of_the_agent(events: Sequence[v1.AgentEvent]) -> list[v1.AgentEvent]:
    """A log's events without the engine's own, and without their numbers."""
    kept: list[v1.AgentEvent] = []
    for event in events[1:]:  # the first says that the session was made
        by_engine = (
            event.WhichOneof("event") in _OF_THE_ENGINE
            or event.permission_resolved.resolution == "answered"
            or event.notice.kind == v1.NOTICE_KIND_RUN
            or event.message_state.state == v1.MESSAGE_STATE_ACCEPTED
        )
        if not by_engine:
            kept.append(as_the_agent_said(event))
    return kept


def as_the_agent_said(event: v1.AgentEvent) -> v1.AgentEvent:
    """Without its number, and without what the engine adds to a prompt and to its end."""
    bare = v1.AgentEvent()
    bare.CopyFrom(event)
    bare.sequence = 0
    for kind in ("permission_request", "user_question"):
        if bare.HasField(kind):
            for name in _ADDED_TO_PROMPTS.intersection(getattr(bare, kind).DESCRIPTOR.fields_by_name):
                getattr(bare, kind).ClearField(name)
    if bare.permission_resolved.resolution == "withdrawn":
        bare.permission_resolved.ClearField("message")  # whose wish it was
    return bare


def assert_same(log: Sequence[v1.AgentEvent], reading: Sequence[v1.AgentEvent]) -> None:
    """Each event of the reading once and in order in the log; says where they part."""
    for place, (logged, read) in enumerate(zip(log, reading, strict=False)):
        assert as_the_agent_said(logged) == as_the_agent_said(read), (
            f"event {place}: the log has {_line(logged)}, the reading {_line(read)}"
        )
    assert len(log) == len(reading)


def _line(event: v1.AgentEvent) -> str:
    return " ".join(str(event).split())
