"""The status of a session, event by event."""

from datetime import UTC, datetime, timedelta

import pytest

from betcode.tui.model.queue import QueuedMessage
from betcode.tui.model.session_status import SessionStatusModel
from betcode.v1 import agent_pb2 as v1
from support.screens.blocks import numbered

_NOW = datetime(2026, 11, 15, 12, 0, tzinfo=UTC)


def _of(*events: v1.AgentEvent, summary: v1.SessionSummary | None = None) -> SessionStatusModel:
    session_status = SessionStatusModel("me")
    session_status.begin(summary or v1.SessionSummary(id="s", status="idle"))
    for event in numbered(events):
        session_status.take(event)
    return session_status


def _status(status: v1.AgentStatus.ValueType) -> v1.AgentEvent:
    return v1.AgentEvent(status_change=v1.StatusChange(status=status))


def _said(message_id: str, client_id: str = "me") -> v1.AgentEvent:
    return v1.AgentEvent(user_input=v1.UserInput(content=message_id, message_id=message_id, client_id=client_id))


def _moved(message_id: str, state: v1.MessageState.ValueType, reason: str = "") -> v1.AgentEvent:
    change = v1.MessageStateChange(message_id=message_id, state=state, reason=reason)
    return v1.AgentEvent(message_state=change)


def _todo(*statuses: v1.TodoStatus.ValueType) -> v1.AgentEvent:
    return v1.AgentEvent(todo_update=v1.TodoUpdate(items=[v1.TodoItem(status=status) for status in statuses]))


_END = v1.AgentEvent(turn_complete=v1.TurnComplete(stop_reason="end_turn"))
_USAGE = v1.AgentEvent(usage=v1.UsageReport(input_tokens=10, output_tokens=5, cost_usd=0.25))


def test_usage_in_the_summary_is_not_counted_again() -> None:
    known = v1.SessionSummary(total_cost_usd=0.25, total_input_tokens=10, last_sequence=1)
    session_status = _of(_USAGE, _USAGE, summary=known)
    assert (session_status.cost_usd, session_status.tokens_in, session_status.tokens_out) == (0.5, 20, 5)


def test_a_summary_that_knows_less_than_we_heard_changes_no_count() -> None:
    session_status = _of(_USAGE, _USAGE)
    session_status.begin(v1.SessionSummary(id="s", worktree_name="new", total_cost_usd=0.25, last_sequence=1))
    assert (session_status.worktree, session_status.cost_usd) == ("new", 0.5)
    session_status.begin(v1.SessionSummary(id="s", total_cost_usd=0.75, last_sequence=3))
    assert session_status.cost_usd == 0.75


def test_the_context_is_emptier_after_a_compaction() -> None:
    full = v1.AgentEvent(session_info=v1.SessionInfo(context_usage_percent=80.0))
    less = v1.AgentEvent(compaction=v1.CompactionBoundary(tokens_before=1000, tokens_after=250))
    session_status = _of(full, less)
    assert session_status.context_percent == pytest.approx(20.0)


def test_a_message_that_begins_a_turn_leaves_the_queue_when_the_agent_has_it() -> None:
    assert [one.message_id for one in _of(_said("a")).queue] == ["a"]
    assert _of(_said("a"), _moved("a", v1.MESSAGE_STATE_DELIVERED)).queue == []


def test_the_message_of_the_turn_that_is_joined_is_not_queued() -> None:
    summary = v1.SessionSummary(status="active", last_sequence=2)
    session_status = _of(_said("m1"), _moved("m1", v1.MESSAGE_STATE_DELIVERED), summary=summary)
    assert not session_status.queue


def test_a_message_sent_during_a_turn_is_queued_until_that_ends() -> None:
    sent = (_status(v1.THINKING), _said("a"), _moved("a", v1.MESSAGE_STATE_DELIVERED), _said("b", "you"))
    accepted, delivered = v1.MESSAGE_STATE_ACCEPTED, v1.MESSAGE_STATE_DELIVERED
    told = [(one.message_id, one.state, one.is_ours) for one in _of(*sent).queue]
    assert told == [("a", delivered, True), ("b", accepted, False)]
    assert [one.message_id for one in _of(*sent, _END).queue] == ["b"]


@pytest.mark.parametrize("state", [v1.MESSAGE_STATE_CONSUMED, v1.MESSAGE_STATE_CANCELLED, v1.MESSAGE_STATE_UNKNOWN])
def test_a_message_that_came_to_an_end_is_not_queued(state: v1.MessageState.ValueType) -> None:
    assert _of(_status(v1.THINKING), _said("a"), _moved("a", state)).queue == []


def test_a_queued_message_has_a_reason() -> None:
    (one,) = _of(_said("a"), _moved("a", v1.MESSAGE_STATE_ACCEPTED, "Waiting for a free slot")).queue
    assert isinstance(one, QueuedMessage)
    assert one.reason == "Waiting for a free slot"


def test_things_to_do_go_when_all_are_done_and_something_new_begins() -> None:
    assert len(_of(_todo(v1.COMPLETED, v1.PENDING), _said("a")).todos) == 2
    assert len(_of(_todo(v1.COMPLETED)).todos) == 1
    assert _of(_todo(v1.COMPLETED), _said("a")).todos == ()


def test_things_to_do_of_before_hold_unless_newer_ones_are_known_or_all_was_done() -> None:
    (older,) = numbered([_todo(v1.PENDING)])
    (done,) = numbered([_todo(v1.COMPLETED)])
    session_status = SessionStatusModel()
    session_status.take(numbered([_said("a")], first=5)[0])
    session_status.recall(done)
    assert session_status.todos == ()
    session_status = SessionStatusModel()
    session_status.recall(older)
    assert len(session_status.todos) == 1
    session_status.take(numbered([_todo(v1.PENDING, v1.PENDING)], first=5)[0])
    session_status.recall(older)
    assert len(session_status.todos) == 2


def test_a_plan_stays_while_it_is_carried_out() -> None:
    on, written, off = (
        v1.AgentEvent(plan_mode=v1.PlanModeChange(active=active, plan=plan))
        for active, plan in ((True, ""), (True, "1. Test"), (False, "1. Test"))
    )
    assert (_of(on).plan_mode, _of(on).plan) == (True, "")
    assert _of(on, written, off, _status(v1.THINKING), _said("quick question")).plan == "1. Test"
    session_status = _of(on, written, off, _said("something else"))
    assert (session_status.plan_mode, session_status.plan) == (False, "")


def _soon(seconds: int) -> str:
    return (_NOW + timedelta(seconds=seconds)).isoformat()


def test_the_reason_for_waiting_is_shown_until_the_session_continues() -> None:
    crash = v1.AgentEvent(error=v1.ErrorEvent(code="SUBPROCESS_CRASHED", details={"retry_at": _soon(5)}))
    retry = v1.AgentEvent(notice=v1.Notice(details={"waiting_for": "overload", "reset_at": _soon(9)}))
    assert _of(crash).waits(_NOW) == "crashed, restarts in 5 s"
    assert _of(retry).waits(_NOW) == "API overloaded, retries in 9 s"
    assert _of(crash, _status(v1.THINKING)).waits(_NOW) == ""
    assert _of(retry, v1.AgentEvent(text_delta=v1.TextDelta(text="ah"))).waits(_NOW) == ""
    slot = v1.SessionSummary(status="active", waiting_for="slot")
    assert _of(summary=slot).waits(_NOW) == "waiting for a slot"


def test_an_agent_that_is_not_restarted_is_shown() -> None:
    fatal = v1.AgentEvent(error=v1.ErrorEvent(code="SUBPROCESS_CRASHED", is_fatal=True))
    assert _of(_status(v1.THINKING), fatal, _status(v1.IDLE)).waits(_NOW) == "crashed"


def test_a_budget_is_reached_until_it_is_raised() -> None:
    reached = v1.AgentEvent(notice=v1.Notice(kind=v1.NOTICE_KIND_BUDGET, details={"reached": "cost,time"}))
    raised = v1.AgentEvent(notice=v1.Notice(kind=v1.NOTICE_KIND_BUDGET, message="raised"))
    assert _of(reached).budget_reached == ("cost", "time")
    assert _of(reached, raised).budget_reached == ()


def test_lock_presence_and_commands_are_the_last_reported_ones() -> None:
    lock = v1.InputLockChange(holder_client_id="you", asking_client_id="me")
    present = v1.Presence(clients=[v1.PresentClient(client_id="you")])
    info = v1.SessionInfo(model="opus-5", commands=[v1.AgentCommand(name="compact")])
    session_status = _of(v1.AgentEvent(session_info=info))
    session_status.take(v1.AgentEvent(input_lock=lock))
    session_status.take(v1.AgentEvent(presence=present))
    assert session_status.lock == lock
    assert [one.client_id for one in session_status.present] == ["you"]
    assert [one.name for one in session_status.commands] == ["compact"]
    session_status.take(v1.AgentEvent(session_info=v1.SessionInfo(model="opus-6")))
    assert (session_status.model, len(session_status.commands)) == ("opus-6", 1)


def test_a_turn_is_timed_from_when_the_agent_began_to_work() -> None:
    def since(*changes: tuple[int, v1.AgentStatus.ValueType], status: str = "idle") -> float | None:
        session_status = SessionStatusModel("me")
        session_status.begin(v1.SessionSummary(status=status))
        for seconds, change in changes:
            event = _status(change)
            event.timestamp.FromSeconds(seconds)
            session_status.take(event)
        return session_status.worked_since.timestamp() if session_status.worked_since else None

    assert since((1, v1.IDLE), (5, v1.THINKING), (9, v1.EXECUTING_TOOL)) == 5
    assert since((5, v1.THINKING), (9, v1.IDLE)) is None
    assert since((5, v1.EXECUTING_TOOL), (9, v1.THINKING), status="active") == 5


def test_whether_the_agent_has_answered_is_counted_from_the_beginning_of_each_turn() -> None:
    text = v1.AgentEvent(text_delta=v1.TextDelta(text="hello"))
    assert not _of(_status(v1.THINKING)).has_answered
    assert _of(_status(v1.THINKING), text).has_answered
    assert not _of(_status(v1.THINKING), text, _END, _status(v1.IDLE), _status(v1.THINKING)).has_answered
