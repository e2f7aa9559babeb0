"""Recordings replayed through the dialogue, and what of their events a test looks for."""

from collections.abc import Iterator

from betcode.domain.ports import Dialogue
from betcode.domain.runs.journal_record import Record
from betcode.providers.claude.provider import ClaudeProvider
from betcode.v1 import agent_pb2 as v1
from support.recordings.claude import SESSION, WIRE, records_of

PROVIDER = ClaudeProvider()


def replay(name: str, dialogue: Dialogue | None = None) -> list[v1.AgentEvent]:
    dialogue = dialogue or PROVIDER.dialogue(SESSION, "")
    return [event for record in records_of(WIRE / f"{name}.ndjson") for event in dialogue.receive(record)]


def of_kind(events: list[v1.AgentEvent], kind: str) -> list[v1.AgentEvent]:
    return [event for event in events if event.WhichOneof("event") == kind]


def only(events: list[v1.AgentEvent], kind: str) -> v1.AgentEvent:
    [event] = of_kind(events, kind)
    return event


def up_to(name: str, text: bytes, dialogue: Dialogue) -> Iterator[Record]:
    """Replay until a line holds `text`; the rest is given back."""
    records = iter(records_of(WIRE / f"{name}.ndjson"))
    for record in records:
        dialogue.receive(record)
        if text in record.data:
            break
    return records
