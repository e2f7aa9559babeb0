"""Batches: stored records joined without parsing them."""

from hypothesis import given
from hypothesis import strategies as st

from betcode.domain.store.rows import Batch
from betcode.domain.values.identifiers import Seq
from betcode.v1.agent_pb2 import AgentEvent, AgentEventBatch


@given(st.lists(st.text(max_size=300), max_size=12))
def test_a_joined_batch_is_the_message_of_its_events(texts: list[str]) -> None:
    events = [AgentEvent(sequence=number) for number, _ in enumerate(texts, 1)]
    for event, text in zip(events, texts, strict=True):
        event.text_delta.text = text
    batch = Batch(Seq(1), Seq(len(events)), tuple(event.SerializeToString() for event in events))
    assert AgentEventBatch.FromString(batch.joined) == AgentEventBatch(events=events)
