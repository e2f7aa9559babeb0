"""Every consumer of events declares for each kind whether it handles or ignores it."""

import re

import pytest
from proto_compat import ROOT

from betcode.cli.run import headless
from betcode.cli.session import transcript
from betcode.domain.events import search_documents as documents
from betcode.domain.events.event_json import event_json
from betcode.domain.events.event_table import EVENT_KINDS, EventTable
from betcode.engine.core import counters
from betcode.server.export import entries
from betcode.server.export import redaction as hiding
from betcode.server.obey import activities
from betcode.tui.model import history_segment as stretch
from betcode.tui.model import session_status as standing
from betcode.v1 import agent_pb2 as v1
from betcode.wording import render
from support.rounds import judge

TABLES: list[EventTable[object]] = [
    EventTable(each.consumer, each.handlers, each.ignored)
    for each in (
        stretch.SHOWN,
        standing.STATE,
        render.DESCRIBED,
        transcript.PRINTED,
        headless.SHOWN,
        entries.READABLE,
        hiding.REDACTED,
        activities.REPORTED,
        documents.SEARCHED,
        counters.COUNTED,
        judge.WRITERS,
        judge.TURN_OPENERS,
    )
]
_DEFINITION = re.compile(r"^[A-Z_]+: EventTable\[", re.MULTILINE)


def of(kind: str) -> v1.AgentEvent:
    event = v1.AgentEvent()
    getattr(event, kind).SetInParent()
    return event


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.consumer)
def test_a_consumer_handles_or_ignores_every_kind(table: EventTable[object]) -> None:
    assert table.faults() == []


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.consumer)
def test_a_kind_that_a_consumer_does_not_know_is_a_fault(table: EventTable[object]) -> None:
    assert table.faults(EVENT_KINDS | {"new_kind"}) == [f"{table.consumer} neither handles nor ignores new_kind"]


def test_every_table_is_checked_here() -> None:
    sources = [*(ROOT / "src/betcode").rglob("*.py"), *(ROOT / "tests/support").rglob("*.py")]
    assert len(TABLES) == sum(len(_DEFINITION.findall(path.read_text(encoding="utf-8"))) for path in sources)


@pytest.mark.parametrize("kind", sorted(EVENT_KINDS))
def test_json_lines_and_the_json_export_name_every_kind(kind: str) -> None:
    assert event_json(of(kind))["type"] == kind


@pytest.mark.parametrize("kind", sorted(EVENT_KINDS))
def test_every_consumer_accepts_an_empty_event_of_every_kind(kind: str) -> None:
    event = of(kind)
    stretch.HistorySegment().take(event)
    standing.SessionStatusModel().take(event)
    list(entries.HistoryEntries().of(event))
    hiding.without_secrets(event)
    documents.document_of(event)
    render.Describer().describe(event)


def test_an_event_of_a_newer_daemon_is_ignored() -> None:
    empty = v1.AgentEvent(sequence=1)
    assert [table.consumer for table in TABLES if table.handler(empty) is not None] == []
    assert render.Describer().describe(empty) == []


def test_a_table_that_declares_a_kind_twice_or_wrongly_has_faults() -> None:
    table = EventTable("A", dict.fromkeys(EVENT_KINDS, 1) | {"old": 1}, frozenset({"gap"}))
    assert table.faults() == ["A both handles and ignores gap", "A declares old, which is no event"]
