"""Said means done: every accepted message is consumed once or reported, and no other is ever run."""

from collections import Counter
from collections.abc import Iterator, Sequence

from betcode.engine.shell.auto_responses import OWN_CLIENT
from betcode.v1 import agent_pb2 as v1
from support.rounds.evidence import SessionEvidence

FINAL = {
    v1.MESSAGE_STATE_CONSUMED: "consumed",
    v1.MESSAGE_STATE_CANCELLED: "cancelled",
    v1.MESSAGE_STATE_UNKNOWN: "unknown",
}


def judge_messages(one: SessionEvidence, events: Sequence[v1.AgentEvent]) -> Iterator[str]:
    yield from _acknowledged(one, events)
    yield from _end_once(one, events)
    yield from _nothing_left(one, events)
    if one.keeps_ledger:
        yield from _really_run(one, events)
        yield from _one_agent_at_a_time(one)
        yield from _nothing_after_its_end(one)


def _acknowledged(one: SessionEvidence, events: Sequence[v1.AgentEvent]) -> Iterator[str]:
    """An acknowledgement is the number of the event that shows the message; a refusal leaves no trace."""
    shown = {event.sequence: event.user_input for event in events if event.HasField("user_input")}
    times = Counter(said.message_id for said in shown.values())
    for message_id, count in times.items():
        if count > 1:
            yield f"message {message_id} is accepted {count} times"
    texts = {sent.message_id: sent.text for sent in one.sent}
    accepted = {sent.message_id for sent in one.sent if sent.seq is not None}
    unclear = {sent.message_id for sent in one.sent if sent.seq is None and not sent.refused}
    for sent in one.sent:
        if sent.seq is None:
            continue
        said = shown.get(sent.seq)
        if said is None or said.message_id != sent.message_id:
            yield f"message {sent.message_id} was acknowledged by number {sent.seq}, which does not show it"
        elif said.content != sent.text:
            yield f"message {sent.message_id} is shown as {said.content!r} and was {sent.text!r}"
    for message_id in times:
        if message_id in _told_by_the_engine(events):
            continue
        if message_id not in texts:
            yield f"message {message_id} was sent by nobody"
        elif message_id not in accepted | unclear:
            yield f"message {message_id} was refused, and is in the log"


def _end_once(one: SessionEvidence, events: Sequence[v1.AgentEvent]) -> Iterator[str]:
    """One end for each message, in the log and in its row; turns name it at most once."""
    ends: dict[str, str] = {}
    for event in events:
        state = event.message_state
        if not event.HasField("message_state") or not state.message_id:
            continue
        before = ends.get(state.message_id)
        if before is not None:
            name = v1.MessageState.Name(state.state)
            yield f"message {state.message_id} was {before} and is {name} again at {event.sequence}"
        elif state.state in FINAL:
            ends[state.message_id] = FINAL[state.state]
            if state.state == v1.MESSAGE_STATE_UNKNOWN and not state.reason:
                yield f"message {state.message_id} is unknown, and nothing says why"
    accepted = [event.user_input.message_id for event in events if event.HasField("user_input")]
    for message_id in accepted:
        row = one.inputs.get(message_id)
        stored = row.state if row is not None else "nowhere"
        if message_id not in ends:
            yield f"message {message_id} was accepted, and nothing says what became of it (it is {stored})"
        elif stored != ends[message_id]:
            yield f"message {message_id} is told to be {ends[message_id]}, and is stored as {stored}"


def _nothing_left(one: SessionEvidence, events: Sequence[v1.AgentEvent]) -> Iterator[str]:
    """No answer or command is still to be handed over, and no message is answered by two turns."""
    for input_id, row in one.inputs.items():
        if row.kind != "message" and row.state in ("accepted", "delivered"):
            yield f"the {row.kind} {input_id} is still open"
    named = Counter(name for event in events for name in event.turn_complete.message_ids)
    for message_id, count in named.items():
        if count > 1:
            yield f"message {message_id} is named by {count} turns"


def _really_run(one: SessionEvidence, events: Sequence[v1.AgentEvent]) -> Iterator[str]:
    """The agent's own ledger: begun once, done once where it is said to be consumed, never where it was refused."""
    began = Counter(noted.name for noted in one.ledger if noted.what == "began")
    did = Counter(noted.name for noted in one.ledger if noted.what == "did")
    for noted in one.ledger:
        if noted.what == "crowded":
            yield f"message {noted.name} was given to an agent that takes one at a time, and had one"
    inputs = [event for event in events if event.HasField("user_input")]
    shown = {event.user_input.message_id for event in inputs if event.sequence > one.forked_at}
    known = shown | {input_id for input_id, row in one.inputs.items() if row.kind == "compaction"}
    delivered = {
        event.message_state.message_id for event in events if event.message_state.state == v1.MESSAGE_STATE_DELIVERED
    }
    broken = {"crashed", "stopped", "cancelled", "error"}
    was_broken = any(event.turn_complete.stop_reason in broken for event in events)
    for message_id, count in (began + did).items():
        if began[message_id] > 1 or did[message_id] > 1:
            yield f"message {message_id} was begun {began[message_id]} times and done {did[message_id]} times"
        if message_id not in known:
            yield f"message {message_id} reached the agent and is not in the log ({count})"
    for message_id in shown:
        row = one.inputs.get(message_id)
        state = row.state if row is not None else ""
        if state == "consumed" and not began[message_id]:
            yield f"message {message_id} is consumed, and no agent ever began it"
        if state == "consumed" and not did[message_id] and not was_broken:
            yield f"message {message_id} is consumed, and no agent ever finished it"
        if state == "cancelled" and message_id not in delivered and began[message_id] and one.status != "closed":
            yield f"message {message_id} is cancelled, and an agent began it"
        if state == "cancelled" and did[message_id] and not was_broken and one.status != "closed":
            yield f"message {message_id} is cancelled, and an agent did it"


def _told_by_the_engine(events: Sequence[v1.AgentEvent]) -> set[str]:
    """The messages that tell an agent to continue, which no client sent."""
    return {event.user_input.message_id for event in events if event.user_input.client_id == OWN_CLIENT}


def _nothing_after_its_end(one: SessionEvidence) -> Iterator[str]:
    """No agent takes up, continues or runs a tool of a message's turn after the message's end was logged.

    A session that is closed is left out: its messages end before its agent does.
    """
    if one.status == "closed":
        return
    for noted in one.ledger:
        message_id = noted.turn if noted.what == "ran" else noted.name
        ended_at = one.ended_at.get(message_id)
        if noted.what in ("began", "again", "ran") and ended_at is not None and noted.at > ended_at:
            late_s = noted.at - ended_at
            yield f"message {message_id} had ended, and {late_s:.1f} s later agent {noted.pid} noted {noted.what!r}"


def _one_agent_at_a_time(one: SessionEvidence) -> Iterator[str]:
    """Two agents on one conversation would fork it silently."""
    order: list[int] = []
    for noted in one.ledger:
        if not order or order[-1] != noted.pid:
            order.append(noted.pid)
    for pid, times in Counter(order).items():
        if times > 1:
            yield f"agent {pid} worked while another one did"
