"""A compaction moves the boundary forward, is told to who asked for it as it was, and leaves a session at rest."""

from collections.abc import Iterator, Sequence
from typing import Final, Literal

from betcode.v1 import agent_pb2 as v1
from support.rounds.evidence import SessionEvidence

_Counted = Literal["messages_before", "messages_after", "tokens_saved", "compacted_before"]
# What the engine adds to an agent's word that it has compacted.
COUNTED: Final[tuple[_Counted, ...]] = ("messages_before", "messages_after", "tokens_saved", "compacted_before")


def judge_compactions(one: SessionEvidence, events: Sequence[v1.AgentEvent]) -> Iterator[str]:
    done = [event for event in events if event.HasField("compaction") and not event.compaction.new_conversation_id]
    yield from _boundaries(one, done)
    yield from _snapshots(one, {event.compaction.compacted_before for event in done})
    yield from _answers(one, events, [event.compaction for event in done])
    yield from _rows(one)
    last = max((event.sequence for event in events if event.status_change.status == v1.COMPACTING), default=0)
    is_over = any(event.sequence > last and event.HasField("turn_complete") for event in events)
    if last and not is_over and one.status != "closed":
        yield f"a compaction began at {last}, and nothing says that it is over"


def _boundaries(one: SessionEvidence, done: Sequence[v1.AgentEvent]) -> Iterator[str]:
    boundary = 0
    for event in done:
        told = event.compaction
        if not boundary <= told.compacted_before < event.sequence:
            yield f"the boundary moves from {boundary} to {told.compacted_before} at {event.sequence}"
        if told.messages_after > told.messages_before:
            yield f"{told.messages_before} messages become {told.messages_after} by the compaction at {event.sequence}"
        boundary = told.compacted_before
    if boundary != one.boundary:
        yield f"the boundary is told to be {boundary}, and is stored as {one.boundary}"


def _snapshots(one: SessionEvidence, boundaries: set[int]) -> Iterator[str]:
    """A snapshot stands for what was compacted, and for nothing that its client had seen."""
    for view in one.views:
        if view.asked_after is None:
            continue
        if view.after + 1 not in boundaries:
            yield f"{view.client} was given a snapshot of what comes before {view.after + 1}, which is no boundary"
        if view.after < view.asked_after:
            yield f"{view.client} had seen {view.asked_after} and was given a snapshot of less ({view.after})"


def _answers(
    one: SessionEvidence, events: Sequence[v1.AgentEvent], done: Sequence[v1.CompactionBoundary]
) -> Iterator[str]:
    told = {(each.messages_before, each.messages_after, each.tokens_saved) for each in done}
    failed = any(event.error.code == "COMPACTION_FAILED" for event in events)
    cancelled = any(event.turn_complete.stop_reason == "cancelled" for event in events)
    for asked in one.compactions:
        numbers = asked.messages_before, asked.messages_after, asked.tokens_saved
        had_nothing_to_do = asked.messages_before == asked.messages_after and not asked.tokens_saved
        if asked.outcome == "done" and numbers not in told and not had_nothing_to_do:
            yield f"a client was told of a compaction that the log does not have: {numbers}"
        if asked.outcome == "COMPACTION_FAILED" and not failed and not cancelled:
            yield "a client was told of a compaction that failed, and the log does not say so"


def _rows(one: SessionEvidence) -> Iterator[str]:
    began = {noted.name for noted in one.ledger if noted.what == "began"}
    for input_id, row in one.inputs.items():
        if row.kind == "compaction" and row.state == "consumed" and one.keeps_ledger and input_id not in began:
            yield f"compaction {input_id} is done, and no agent ever began it"
