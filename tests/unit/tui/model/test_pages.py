"""However a history is cut into pages, and whichever came first, it is the same conversation."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from betcode.tui.model.conversation import Conversation
from betcode.v1 import agent_pb2 as v1
from support.recordings import GOLDEN, read_back
from support.shown_blocks import cut, dump, numbered

_IDS = st.sampled_from(("a", "b", "c"))
_TOOLS = st.sampled_from(("t1", "t2", "t3", "t4"))
_TEXT = st.sampled_from(("", "one ", "two\n", "三 "))
_PARENTS = st.one_of(st.just(""), st.just(""), _TOOLS)
_REQUESTS = st.sampled_from(("r1", "r2"))
_STATES = st.sampled_from((v1.MESSAGE_STATE_ACCEPTED, v1.MESSAGE_STATE_DELIVERED, v1.MESSAGE_STATE_CANCELLED))


def _deltas(kind: type[v1.TextDelta] | type[v1.ThinkingDelta]) -> st.SearchStrategy[v1.TextDelta | v1.ThinkingDelta]:
    return st.builds(
        kind,
        text=_TEXT,
        is_complete=st.booleans(),
        is_partial=st.booleans(),
        message_id=st.one_of(_IDS, st.just("")),
        block=st.integers(0, 1),
    )


def _question(group: str, number: int) -> v1.UserQuestion:
    return v1.UserQuestion(question_id=f"{group}#{number}", group_id=group, question=f"which {number}?")


def _events() -> st.SearchStrategy[v1.AgentEvent]:
    kinds = {
        "text_delta": _deltas(v1.TextDelta),
        "thinking_delta": _deltas(v1.ThinkingDelta),
        "tool_call_start": st.builds(v1.ToolCallStart, tool_id=_TOOLS, tool_name=_IDS, description=_TEXT),
        "tool_call_result": st.builds(
            v1.ToolCallResult,
            tool_id=_TOOLS,
            output=_TEXT,
            is_error=st.booleans(),
            denied_by=st.sampled_from(("", "hook")),
        ),
        "message_state": st.builds(v1.MessageStateChange, message_id=_IDS, state=_STATES, reason=_TEXT),
        "permission_request": st.builds(v1.PermissionRequest, request_id=_REQUESTS, tool_name=_IDS),
        "user_question": st.builds(_question, _REQUESTS, st.integers(1, 2)),
        "permission_resolved": st.builds(
            v1.PermissionResolved,
            request_id=_REQUESTS,
            resolution=st.sampled_from(("answered", "expired")),
            decision=st.sampled_from((v1.ALLOW_ONCE, v1.DENY)),
        ),
        "usage": st.builds(v1.UsageReport, duration_ms=st.integers(0, 2000)),
        "turn_complete": st.builds(v1.TurnComplete, stop_reason=st.sampled_from(("end_turn", "cancelled", "crashed"))),
        "error": st.builds(v1.ErrorEvent, code=st.sampled_from(("SUBPROCESS_CRASHED", "AGENT_ERROR")), message=_IDS),
        "notice": st.builds(v1.Notice, kind=st.sampled_from((4, 6, 30)), message=_IDS),
        "todo_update": st.builds(v1.TodoUpdate),
        "status_change": st.builds(v1.StatusChange, status=st.just(v1.IDLE)),
    }
    return st.one_of(
        *(
            st.builds(
                lambda kind, told, parent: v1.AgentEvent(**{kind: told}, parent_tool_use_id=parent),
                st.just(kind),
                told,
                _PARENTS,
            )
            for kind, told in kinds.items()
        )
    )


def _said(message_id: str) -> v1.AgentEvent:
    return v1.AgentEvent(user_input=v1.UserInput(content=f"do {message_id}", message_id=message_id, client_id="other"))


@st.composite
def _histories(draw: st.DrawFn) -> list[v1.AgentEvent]:
    """Anything an agent may say, in any order; each message of a person once, and what has an id has one speaker."""
    events = draw(st.lists(_events(), max_size=40))
    parents = draw(st.fixed_dictionaries(dict.fromkeys(("a", "b", "c", "t1", "t2", "t3", "t4"), _PARENTS)))
    for event in events:
        told = getattr(event, str(event.WhichOneof("event")))
        name = getattr(told, "tool_id", "") or getattr(told, "message_id", "")
        event.parent_tool_use_id = parents.get(name, event.parent_tool_use_id)
    for message_id in draw(st.sets(_IDS)):
        events.insert(draw(st.integers(0, len(events))), _said(message_id))
    return numbered(events)


def _in_order(events: list[v1.AgentEvent]) -> Conversation:
    whole = Conversation()
    whole.take(events)
    return whole


@given(_histories(), st.lists(st.integers(0, 60), max_size=6), st.integers(0, 7))
def test_pages_read_in_any_order_of_time_give_the_same_blocks(
    events: list[v1.AgentEvent], places: list[int], newer: int
) -> None:
    pages = cut(events, places)
    start = newer % len(pages)
    read = Conversation()
    read.take(pages[start])
    older, later = pages[:start], pages[start + 1 :]
    while older or later:
        if later and (not older or len(later) % 2):
            read.take(later.pop(0))
        else:
            read.prepend(older.pop())
    assert dump(read.blocks) == dump(_in_order(events).blocks)
    assert (read.oldest, read.newest) == ((1, len(events)) if events else (0, 0))


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.json")), ids=lambda path: path.stem)
def test_recorded_sessions_are_the_same_from_any_page(path: object) -> None:
    events = numbered(read_back(row) for row in json.loads(path.read_text()))  # type: ignore[attr-defined]
    whole = dump(_in_order(events).blocks)
    for at in range(0, len(events), max(len(events) // 12, 1)):
        read = Conversation()
        read.take(events[at:])
        read.prepend(events[at // 2 : at])
        read.prepend(events[: at // 2])
        assert dump(read.blocks) == whole


@given(_histories())
def test_events_that_come_twice_count_once(events: list[v1.AgentEvent]) -> None:
    read = _in_order(events)
    read.take(events[len(events) // 2 :])
    read.prepend(events[: len(events) // 2])
    assert dump(read.blocks) == dump(_in_order(events).blocks)
