"""What a cancelled turn had begun to say is settled as partial: of that turn alone, and not at the cost of its end."""

from collections.abc import Sequence
from pathlib import Path

import apsw
import pytest

from betcode.domain.store.rows import SessionState, StoredEvent
from betcode.domain.values.identifiers import Seq
from betcode.engine.core import events
from betcode.engine.core.counters import KIND_OF
from betcode.engine.shell.partial_output import cut_short
from betcode.v1 import agent_pb2 as v1
from support.storage.rows import making, store_at

pytestmark = pytest.mark.anyio


def delta(text: str, *, settled: bool = False) -> v1.AgentEvent:
    event = v1.AgentEvent()
    event.text_delta.text, event.text_delta.is_complete, event.text_delta.message_id = text, settled, "m"
    return event


def stored(said: Sequence[v1.AgentEvent]) -> list[StoredEvent]:
    for number, event in enumerate(said, 1):
        event.sequence = number
    return [
        StoredEvent(Seq(event.sequence), KIND_OF[event.WhichOneof("event") or ""], event.SerializeToString())
        for event in said
    ]


async def test_what_was_not_settled_since_the_last_turn_ended_is_partial(tmp_path: Path) -> None:
    earlier = [delta("left open by a turn before"), events.turn_complete("cancelled")]
    settled = [delta("whole"), delta("whole", settled=True)]
    said = stored([*earlier, *settled, delta("I was "), delta("about to")])
    async with store_at(tmp_path / "betcode.db") as store:
        key = await store.create_session(making(), SessionState(), said)
        [partial] = await cut_short(store, key, said[-1].seq)
    assert (partial.text_delta.text, partial.text_delta.is_partial) == ("I was about to", True)


async def test_a_history_that_cannot_be_read_leaves_the_words_unmarked(tmp_path: Path) -> None:
    path = tmp_path / "betcode.db"
    said = stored([delta("I was")])
    async with store_at(path) as store:
        key = await store.create_session(making(), SessionState(), said)
        with apsw.Connection(str(path)) as db:
            db.execute("ALTER TABLE events RENAME TO gone")
        assert await cut_short(store, key, said[-1].seq) == []
