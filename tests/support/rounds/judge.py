"""Whether a round kept the promises: pure, and each broken promise is one sentence."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal

from betcode.domain.events.event_table import EventTable
from betcode.v1 import agent_pb2 as v1
from support.recordings.translation import as_the_agent_said
from support.rounds.evidence import Numbered, RoundEvidence, SessionEvidence
from support.rounds.judge_compactions import COUNTED, judge_compactions
from support.rounds.judge_messages import FINAL, judge_messages
from support.rounds.judge_prompts import answered_unseen, asked_in, judge_prompts

DESCRIPTORS_MORE = 16  # connections that close a moment later, the pages of a database that was opened
RESIDENT_BYTES = 160 * 1024 * 1024  # a daemon after a minute with a few sessions; it starts with about 55 MB
_AT_REST = ("idle", "closed", "new")
# Who may write an event: the engine adds its own kinds, and only an agent's journal may cause the others.
WRITERS: EventTable[Literal["engine", "agent"]] = EventTable(
    "the judge of a round: writers",
    {
        "user_input": "engine",
        "message_state": "engine",
        "permission_resolved": "engine",
        "notice": "engine",
        "status_change": "engine",
        "error": "engine",
        "turn_complete": "engine",
        "session_info": "engine",
        "gap": "engine",
        "input_lock": "engine",
        "presence": "engine",
        "compaction": "engine",
        "permission_reminder": "engine",
        "text_delta": "agent",
        "thinking_delta": "agent",
        "tool_call_start": "agent",
        "tool_call_result": "agent",
        "permission_request": "agent",
        "user_question": "agent",
        "todo_update": "agent",
        "plan_mode": "agent",
        "usage": "agent",
    },
    ignored=frozenset({"deprecation"}),  # sent to one stream, never logged
)


def judge(evidence: RoundEvidence) -> list[str]:
    """Every promise that was broken; nothing where all were kept."""
    found = [f"{one.session_id}: {fault}" for one in evidence.sessions for fault in judge_session(one)]
    found += [f"processes and rows disagree: {breach}" for breach in evidence.breaches]
    found += [f"the daemon ended though nobody asked: {end}" for end in evidence.unasked_ends]
    found += [f"the daemon met an error of its own: {error}" for error in evidence.errors_logged]
    found += [f"still running after the end: {name}" for name in evidence.left_running]
    found += [f"left lying about: {name}" for name in evidence.left_lying]
    found += [f"the daemon still has open: {name}" for name in evidence.left_open]
    before, after = evidence.descriptors
    if after > before + DESCRIPTORS_MORE:
        found.append(f"the daemon has {after} descriptors open, and had {before}")
    if evidence.resident_bytes > RESIDENT_BYTES:
        found.append(f"the daemon takes {evidence.resident_bytes >> 20} MiB")
    return found


def judge_session(one: SessionEvidence) -> list[str]:
    found = [*_one_content_for_a_number(one), *one.refusals]
    if one.is_deleted:
        if one.log:
            found.append("deleted, and its history is still there")
        return found
    log = [(seq, v1.AgentEvent.FromString(data)) for seq, data in one.log]
    events = [event for _, event in log]
    found += _numbers(log)
    found += _readings_agree(one)
    found += _views_hold(one)
    found += _is_a_fork(one)
    found += _agents_part(own_part(one, events), one)
    found += _turns(events)
    found += judge_messages(one, events)
    found += judge_prompts(one, events)
    found += judge_compactions(one, events)
    found += [f"said more after it had come to rest: {_line(data)}" for _, data in one.after_rest[:1]]
    found += [f"the tree was not noted in turn {turn}" for turn in one.unnoted]
    if one.status not in _AT_REST:
        found.append(f"is {one.status} though nothing is left to do")
    return found


def own_part(one: SessionEvidence, events: Sequence[v1.AgentEvent]) -> Sequence[v1.AgentEvent]:
    """What comes after the session was introduced; a fork is introduced behind the history that it was given."""
    places = (place for place, event in enumerate(events) if event.sequence > one.forked_at)
    introduced = next((place for place in places if events[place].HasField("session_info")), 0)
    return events[introduced + 1 :]


def _is_a_fork(one: SessionEvidence) -> Iterator[str]:
    """It begins with the history of the session it was forked from, byte by byte."""
    shared = [(seq, data) for seq, data in one.log if seq <= one.forked_at]
    if one.original and shared != list(one.original):
        yield f"the fork differs from its original {_first_difference(shared, one.original)}"


def _numbers(log: Sequence[tuple[int, v1.AgentEvent]]) -> Iterator[str]:
    """From 1, one by one; only a gap that says why may leave numbers out."""
    expected = 1
    for seq, event in log:
        if event.sequence != seq:
            yield f"the event at {seq} says that it is {event.sequence}"
        if seq < expected:
            yield f"number {seq} comes after {expected - 1}"
        elif seq > expected and not event.gap.reason:
            yield f"numbers {expected} to {seq - 1} are missing, and nothing says why"
        if event.HasField("gap") and not event.gap.reason:
            yield f"the gap at {seq} gives no reason"
        expected = max(expected, seq + 1)


def _readings_agree(one: SessionEvidence) -> Iterator[str]:
    """Follow and ResumeSession give the log from its beginning, or from where it was compacted."""
    expected = [(seq, data) for seq, data in one.log if seq >= one.boundary]
    for name, got in (("Follow", one.followed), ("ResumeSession", one.resumed)):
        if list(got) != expected:
            yield f"{name} differs from the log {_first_difference(got, expected)}"


def _first_difference(got: Sequence[Numbered], expected: Sequence[Numbered]) -> str:
    for (got_seq, got_data), (seq, data) in zip(got, expected, strict=False):
        if (got_seq, got_data) != (seq, data):
            return f"at {seq}: it has {got_seq}, {_line(got_data)} and not {_line(data)}"
    return f"in length: {len(got)} events and not {len(expected)}"


def _one_content_for_a_number(one: SessionEvidence) -> Iterator[str]:
    """What one client was shown under a number nobody was ever shown otherwise; and it is on disk."""
    known = dict(one.log)
    for view in one.views:
        for seq, data in view.shown:
            if seq not in known:
                if not one.is_deleted:
                    yield f"{view.client} was shown number {seq}, which is not in the log: {_line(data)}"
                known[seq] = data
            elif not _same(known[seq], data):
                yield f"number {seq} was shown to {view.client} as {_line(data)}, and is also {_line(known[seq])}"


def _views_hold(one: SessionEvidence) -> Iterator[str]:
    """On each stream every event after its beginning, or after what a snapshot stands for, once and in order."""
    numbers = [seq for seq, _ in one.log]
    for view in one.views:
        shown = [seq for seq, _ in view.shown]
        expected = [seq for seq in numbers if seq > view.after][: len(shown)]
        if shown != expected:
            yield f"{view.client} asked after {view.after} and was shown {_ranges(shown)} of {_ranges(expected)}"


def _agents_part(events: Sequence[v1.AgentEvent], one: SessionEvidence) -> Iterator[str]:
    """All of the journals' translation in its order, and nothing else that only an agent says."""
    unseen = answered_unseen(events)
    reading = (event for event in one.reading if asked_in(event) not in unseen)
    wanted = next(reading, None)
    ended: set[str] = set()
    for event in events:
        while wanted is not None and wanted.message_state.message_id in ended:
            wanted = next(reading, None)  # a terminal state is final: what an agent says of it later is not logged
        kind = event.WhichOneof("event") or "nothing"
        if event.message_state.state in FINAL:
            ended.add(event.message_state.message_id)
        if wanted is not None and _is_reading_of(event, wanted):
            wanted = next(reading, None)
        elif WRITERS.handler(event) != "engine" and not _voids(event):
            yield f"number {event.sequence} ({kind}) is not what the journal says next: {_text(event)}"
            return
        elif kind == "gap" and not one.may_have_gaps:
            yield f"a gap at {event.sequence} though no journal was lost: {event.gap.reason}"
    if wanted is not None:
        yield f"what the journal says is missing, first: {_text(wanted)} and {len(list(reading))} more"


def _voids(event: v1.AgentEvent) -> bool:
    """Words of an agent that is gone are taken back by a settled text without words, or settled as cut short.

    Its tools may be ended with it.
    """
    if event.HasField("tool_call_result"):
        return event.tool_call_result.is_error and event.tool_call_result.output == "interrupted"
    said = event.thinking_delta if event.HasField("thinking_delta") else event.text_delta
    return said.is_complete and (said.is_partial or not said.text)


def _is_reading_of(event: v1.AgentEvent, read: v1.AgentEvent) -> bool:
    bare = _as_the_agent_said(event)
    if event.HasField("gap") and read.HasField("gap"):
        bare.timestamp.CopyFrom(read.timestamp)  # what cannot be read has no time of its own
    return bare == _as_the_agent_said(read)


def _as_the_agent_said(event: v1.AgentEvent) -> v1.AgentEvent:
    bare = as_the_agent_said(event)
    if bare.HasField("compaction"):
        for counted in COUNTED:
            bare.compaction.ClearField(counted)
    return bare


def _turns(events: Sequence[v1.AgentEvent]) -> Iterator[str]:
    """Each turn is completed once, and the last word of an agent at rest is that it is idle."""
    is_open = False
    status = v1.AGENT_STATUS_UNSPECIFIED
    for event in events:
        if event.HasField("turn_complete"):
            if not is_open and not event.turn_complete.message_ids:  # a message that waited is a turn of its own
                yield f"a turn is completed again at {event.sequence} ({event.turn_complete.stop_reason})"
            is_open = False
        elif opens := TURN_OPENERS.handler(event):
            is_open = is_open or opens(event)
        status = event.status_change.status if event.HasField("status_change") else status
    if status not in (v1.AGENT_STATUS_UNSPECIFIED, v1.IDLE, v1.ERROR) and not _was_closed(events):
        yield f"the last status told is {v1.AgentStatus.Name(status)}"


def _always(_event: v1.AgentEvent) -> bool:
    return True


def _never(_event: v1.AgentEvent) -> bool:
    return False


def _is_at_work(event: v1.AgentEvent) -> bool:
    return event.status_change.status not in (v1.IDLE, v1.ERROR)


def _is_delivered(event: v1.AgentEvent) -> bool:
    return event.message_state.state == v1.MESSAGE_STATE_DELIVERED


TURN_OPENERS: EventTable[Callable[[v1.AgentEvent], bool]] = EventTable(
    "the judge of a round: turns",
    {
        "user_input": _always,
        "text_delta": _always,
        "thinking_delta": _always,
        "tool_call_start": _always,
        "status_change": _is_at_work,
        "message_state": _is_delivered,
        "turn_complete": _never,
    },
    ignored=frozenset(
        # These follow one of the above in the same turn.
        {"tool_call_result", "permission_request", "user_question", "permission_resolved", "permission_reminder"}
        | {"todo_update", "plan_mode", "usage", "compaction"}
        # These may come between turns.
        | {"session_info", "error", "notice", "gap", "deprecation", "input_lock", "presence"}
    ),
)


def _was_closed(events: Sequence[v1.AgentEvent]) -> bool:
    return any("closed" in event.notice.message for event in events if event.HasField("notice"))


def _same(one: bytes, other: bytes) -> bool:
    return one == other or v1.AgentEvent.FromString(one) == v1.AgentEvent.FromString(other)


def _line(data: bytes) -> str:
    return _text(v1.AgentEvent.FromString(data))


def _text(event: v1.AgentEvent) -> str:
    return " ".join(str(event).split())[:200]


def _ranges(numbers: Iterable[int]) -> str:
    """`1-4 7 7` for 1, 2, 3, 4, 7, 7."""
    ranges: list[list[int]] = []
    for number in numbers:
        if ranges and number == ranges[-1][1] + 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    return " ".join(f"{first}-{last}" if last > first else str(first) for first, last in ranges) or "nothing"


def summary(faults: Sequence[str]) -> dict[str, int]:
    """How often each kind of fault was found, by its first words."""
    return dict(Counter(" ".join(fault.split(": ", 1)[-1].split()[:4]) for fault in faults))
