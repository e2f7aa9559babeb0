"""Recorded conversations as records, and the events they become in a form that people can read and compare."""

import functools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from google.protobuf import json_format

from betcode.domain.runs.journal_record import Record, RecordKind
from betcode.domain.store.rows import NewSession
from betcode.domain.values.identifiers import SessionId
from betcode.providers.claude.provider import ClaudeProvider
from betcode.v1.agent_pb2 import AgentEvent
from support.paths import CONTRACT
from support.recordings.outline import FILE as OUTLINES

WIRE = CONTRACT / "wire" / "claude"
GOLDEN = CONTRACT / "golden" / "claude"

SESSION = NewSession(
    session_id=SessionId("0192d3a0-0000-7000-8000-000000000001"),
    provider="claude",
    working_directory="/home/dev/project",
)
_STARTED_NS = 1_794_711_060_000_000_000
_KINDS = {"in": RecordKind.IN, "out": RecordKind.OUT, "err": RecordKind.ERR, "exit": RecordKind.EXIT}


def recordings() -> list[Path]:
    return sorted(WIRE.glob("*.ndjson"))


def records_of(path: Path) -> list[Record]:
    """The rows of a recording as a journal would hold them; the recorder's own remarks are left out."""
    return list(_records(path))


@functools.cache
def _records(path: Path) -> tuple[Record, ...]:
    return tuple(records_from(json.loads(row) for row in path.read_text().splitlines()))


def records_from(rows: Iterator[dict[str, Any]]) -> Iterator[Record]:
    offset = number = 0
    for row in rows:
        kind = _KINDS.get(row["dir"])
        if kind is None:
            continue
        data = (row["line"] if isinstance(row["line"], str) else json.dumps(row["line"])).encode()
        number += kind is RecordKind.IN
        since_ns = round(row["t"] * 1000) * 1_000_000
        yield Record(
            kind=kind,
            number=number if kind is RecordKind.IN else 0,
            wall_ns=_STARTED_NS + since_ns,
            mono_ns=since_ns,
            data=data,
            offset=offset,
            end=offset + len(data),
        )
        offset += len(data)


def replay(path: Path) -> list[AgentEvent]:
    """The events of a recording."""
    dialogue = ClaudeProvider().dialogue(SESSION, "")
    return [event for record in records_of(path) for event in dialogue.receive(record)]


def golden_files(directory: Path) -> list[Path]:
    """The recordings of a directory whose events are stored in full."""
    return sorted(path for path in directory.glob("*.json") if path.name != OUTLINES)


def record(line: str | bytes | dict[str, Any], kind: RecordKind = RecordKind.OUT, at_ms: float = 0) -> Record:
    """One record, written out."""
    data = json.dumps(line).encode() if isinstance(line, dict) else line.encode() if isinstance(line, str) else line
    since_ns = int(at_ms * 1_000_000)
    return Record(kind, 0, _STARTED_NS + since_ns, since_ns, data, 0, len(data))


def shown(event: AgentEvent) -> dict[str, Any]:
    """An event as readable JSON: seconds since the recording's start, then the event by its kind."""
    fields = json_format.MessageToDict(event, preserving_proto_field_name=True)
    fields.pop("timestamp", None)
    since_ms = (event.timestamp.ToNanoseconds() - _STARTED_NS) / 1_000_000
    return {"ms": round(since_ms, 3), **fields}


def read_back(row: dict[str, Any]) -> AgentEvent:
    """The message that `shown` made a row of."""
    fields = dict(row)
    since_ns = round(fields.pop("ms") * 1_000_000)
    event = json_format.ParseDict(fields, AgentEvent())
    event.timestamp.FromNanoseconds(_STARTED_NS + since_ns)
    return event
