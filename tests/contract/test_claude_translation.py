"""What single recordings show, said outright: the golden files are believed because of these."""

import pytest

from betcode.v1 import agent_pb2 as v1
from support.recordings.claude import SESSION
from support.recordings.replay import PROVIDER, of_kind, only, replay, up_to


@pytest.mark.behaviour("events.text.delta", "events.text.final", "wire.stdout.wrapped-stream-events")
def test_streamed_text_comes_in_pieces_and_settles_as_a_whole() -> None:
    *deltas, settled = [event.text_delta for event in of_kind(replay("a_text"), "text_delta")]
    whole = "Hello! This is a streamed answer from the fake API, in several deltas."
    assert [delta.text for delta in deltas] == [
        "Hello! This ", "is a streame", "d answer fro", "m the fake A", "PI, in sever", "al deltas.",
    ]  # fmt: skip
    assert not any(delta.is_complete for delta in deltas)
    assert (settled.text, settled.is_complete) == (whole, True)
    assert {(delta.message_id, delta.block) for delta in (*deltas, settled)} == {("msg_fake000001", 0)}


@pytest.mark.behaviour("events.text.final")
def test_text_without_deltas_settles_all_the_same() -> None:
    settled = only(replay("a_text_no_partial"), "text_delta").text_delta
    assert settled.is_complete
    assert settled.text.startswith("Hello! This is")


def test_deltas_of_a_cut_stream_are_void() -> None:
    deltas = [event.text_delta for event in of_kind(replay("x_stream_cut"), "text_delta")]
    settled = [(delta.message_id, delta.text) for delta in deltas if delta.is_complete]
    assert settled == [
        ("msg_fake000042", ""),
        ("msg_fake000044", ""),
        ("msg_fake000046", "This answer is cut off in the middle of the stream."),
    ]
    assert only(replay("x_stream_cut"), "notice").notice.kind == v1.NOTICE_KIND_API_RETRY


def test_thinking_is_separate_from_text() -> None:
    events = replay("t_thinking")
    *deltas, settled = [event.thinking_delta for event in of_kind(events, "thinking_delta")]
    assert settled.text == "".join(delta.text for delta in deltas)
    assert settled.text == "First I consider the request. Then I decide to answer briefly."
    answer = of_kind(events, "text_delta")[-1].text_delta
    assert (answer.text, answer.block) == ("Here is the short answer.", 1)


@pytest.mark.behaviour("compaction.tokens-before")
def test_the_context_is_what_the_last_call_of_a_turn_read() -> None:
    usage = only(replay("b_bash_allow"), "usage").usage
    assert (usage.input_tokens, usage.context_tokens) == (200, 100)


@pytest.mark.behaviour("compaction.means", "compaction.status")
def test_a_compaction_is_a_boundary_within_a_turn_of_its_own() -> None:
    events = replay("x_compact_uuid")
    [at] = [place for place, event in enumerate(events) if event.HasField("compaction")]
    assert [events[at].compaction.trigger, events[at].compaction.tokens_after] == ["manual", 2539]
    statuses = [v1.AgentStatus.Name(e.status_change.status) for e in events[:at] if e.HasField("status_change")]
    assert statuses[-2:] == ["COMPACTING", "THINKING"]
    [after] = [event.usage for event in events[at : at + 4] if event.HasField("usage")]
    assert after.context_tokens == 0  # the summary was made by a call of its own


@pytest.mark.behaviour("events.tool.start-from-assistant", "events.tool.result", "events.status.executing-tool")
def test_a_tool_call_shows_input_prompt_run_and_result() -> None:
    events = replay("b_bash_allow")
    start = only(events, "tool_call_start").tool_call_start
    assert (start.tool_id, start.tool_name) == ("toolu_fake000009", "Bash")
    assert start.input_json == (
        '{"command":"touch made-by-tool.txt && wc -l app.py","description":"Create a marker file and count lines"}'
    )
    assert start.input.fields["command"].string_value == "touch made-by-tool.txt && wc -l app.py"
    assert start.description == "Create a marker file and count lines"
    request = only(events, "permission_request").permission_request
    assert request.request_id == "bc057787-5cb8-453d-a9d1-ddbc7dc5ff4d"
    assert (request.tool_name, request.tool_use_id) == ("Bash", start.tool_id)
    assert request.input_json == start.input_json
    assert [suggestion.label for suggestion in request.suggestions] == [
        "allow Bash(touch made-by-tool.txt && wc -l app.py)",
        "addDirectories /home/dev/project",
        "setMode acceptEdits",
    ]
    result = only(events, "tool_call_result").tool_call_result
    assert (result.tool_id, result.output, result.is_error) == (start.tool_id, "2 app.py", False)
    assert result.duration_ms == 75  # from the answer at 0.778 s to the result at 0.853 s
    order = [event.WhichOneof("event") for event in events if not event.HasField("text_delta")]
    assert order[2:6] == ["tool_call_start", "status_change", "permission_request", "status_change"]
    statuses = [event.status_change.status for event in of_kind(events, "status_change")]
    assert statuses == [v1.THINKING, v1.EXECUTING_TOOL, v1.WAITING_FOR_USER, v1.EXECUTING_TOOL, v1.THINKING, v1.IDLE]


@pytest.mark.behaviour("events.tool.result")
def test_a_denied_tool_ends_with_the_reason_sent_to_the_agent() -> None:
    result = only(replay("c_bash_deny"), "tool_call_result").tool_call_result
    assert (result.is_error, result.output) == (True, "User denied permission: not in this directory.")


@pytest.mark.behaviour("events.tool.result")
def test_failing_tools_end_with_an_error() -> None:
    results = [event.tool_call_result for event in of_kind(replay("b_tool_errors"), "tool_call_result")]
    assert [result.is_error for result in results] == [True, True, True]
    assert results[0].output.startswith("Exit code 3")


@pytest.mark.behaviour("events.usage.fields", "events.result")
def test_a_turn_reports_its_own_usage_and_cost() -> None:
    reports = [event.usage for event in of_kind(replay("f_queue"), "usage")]
    assert [round(report.cost_usd, 6) for report in reports] == [0.0008, 0.0008, 0.0008]
    assert [(report.input_tokens, report.output_tokens) for report in reports] == [(100, 20)] * 3
    assert {report.model for report in reports} == {"claude-opus-5-5"}
    assert [report.duration_ms for report in reports] == [276, 6404, 96]


@pytest.mark.behaviour("events.usage.fields")
def test_the_first_turn_after_a_resume_does_not_count_the_cost_before_it() -> None:
    before = PROVIDER.dialogue(SESSION, "")
    replay("i_resume_clean.1", before)
    carried = PROVIDER.carry_over(before.state(), PROVIDER.dialogue_version)
    after = PROVIDER.dialogue(SESSION, before.view.conversation_id, carried, version=PROVIDER.dialogue_version)
    report = only(replay("i_resume_clean.2", after), "usage").usage
    assert round(report.cost_usd, 6) == 0.0008  # the agent's total is 0.0024 by then


def test_a_subagents_tokens_are_in_the_turn_that_it_ends_in() -> None:
    report = only(replay("k_subagent"), "usage").usage
    assert (report.input_tokens, report.output_tokens, round(report.cost_usd, 6)) == (500, 100, 0.004)


@pytest.mark.behaviour("events.system-init")
def test_init_becomes_session_info_when_something_is_new() -> None:
    infos = [event.session_info for event in of_kind(replay("n_models"), "session_info")]
    assert [info.model for info in infos] == ["claude-opus-5-5", "claude-sonnet-5-5"]  # three inits
    assert {info.session_id for info in infos} == {SESSION.session_id}
    assert infos[0].working_directory == "/home/dev/project"
    assert "Bash" in infos[0].tools


@pytest.mark.behaviour("events.parent-tool-use-id")
def test_a_subagents_events_name_the_call_that_started_it() -> None:
    events = replay("k_subagent_forward_text")
    parents = {event.parent_tool_use_id for event in events}
    assert parents == {"", "toolu_fake000487"}
    inside = [event.WhichOneof("event") for event in events if event.parent_tool_use_id]
    assert inside == ["text_delta", "tool_call_start", "tool_call_result"] * 2 + ["text_delta"]
    assert only(replay("k_subagent"), "permission_request").parent_tool_use_id == "toolu_fake000458"


@pytest.mark.behaviour("events.todo")
def test_tasks_become_the_whole_list_at_every_change() -> None:
    updates = [event.todo_update.items for event in of_kind(replay("l_tasks"), "todo_update")]
    assert [[(item.id, item.status) for item in items] for items in updates] == [
        [("1", v1.PENDING)],
        [("1", v1.IN_PROGRESS)],
        [("1", v1.COMPLETED)],
    ]
    first = updates[0][0]
    assert (first.subject, first.description, first.active_form) == (
        "Read the code",
        "Read all of it",
        "Reading the code",
    )
    written = [event.todo_update.items for event in of_kind(replay("l_todo"), "todo_update")]
    assert [[item.status for item in items] for items in written] == [
        [v1.IN_PROGRESS, v1.PENDING],
        [v1.COMPLETED, v1.COMPLETED],
    ]


@pytest.mark.behaviour("events.todo")
def test_a_refused_task_tool_changes_no_list() -> None:
    assert of_kind(replay("l_todo_default"), "todo_update") == []


@pytest.mark.behaviour("events.plan-mode")
def test_plan_mode_is_entered_presented_and_exited() -> None:
    changes = [event.plan_mode for event in of_kind(replay("m_plan_allow"), "plan_mode")]
    plan = "# Plan\n1. Add a test\n2. Fix the bug\n"
    assert [(change.active, change.plan) for change in changes] == [(True, ""), (True, plan), (False, plan)]
    assert [event.plan_mode.active for event in of_kind(replay("m_enter_plan"), "plan_mode")] == [True]
    dialogue = PROVIDER.dialogue(SESSION, "")
    replay("m_plan_deny", dialogue)
    carried = PROVIDER.carry_over(dialogue.state(), PROVIDER.dialogue_version)
    assert PROVIDER.dialogue(SESSION, "", carried, version=PROVIDER.dialogue_version).view.plan_mode
    denied = [event.plan_mode.active for event in of_kind(replay("m_plan_deny"), "plan_mode")]
    assert denied == [True, True]


def test_messages_are_delivered_and_consumed_by_the_turn_that_names_them() -> None:
    events = replay("f_queue")
    states: dict[str, list[int]] = {}
    for event in of_kind(events, "message_state"):
        states.setdefault(event.message_state.message_id, []).append(event.message_state.state)
    assert set(map(tuple, states.values())) == {(v1.MESSAGE_STATE_DELIVERED, v1.MESSAGE_STATE_CONSUMED)}
    turns = [list(event.turn_complete.message_ids) for event in of_kind(events, "turn_complete")]
    assert [len(ids) for ids in turns] == [1, 1, 2]
    assert {name for ids in turns for name in ids} == set(states)


@pytest.mark.behaviour("events.status.idle")
def test_the_agent_is_not_idle_while_messages_wait_in_it() -> None:
    statuses = [event.status_change.status for event in of_kind(replay("f_queue"), "status_change")]
    assert statuses == [v1.THINKING, v1.IDLE, v1.THINKING, v1.THINKING, v1.IDLE]


def test_a_withdrawn_message_is_cancelled() -> None:
    states = [event.message_state.state for event in of_kind(replay("f_queue_cancel"), "message_state")]
    assert v1.MESSAGE_STATE_CANCELLED in states


def test_a_message_sent_again_after_a_resume_is_consumed_without_a_turn() -> None:
    dialogue = PROVIDER.dialogue(SESSION, "")
    up_to("f_duplicate_uuid.2", b'"completed"', dialogue)
    assert not dialogue.view.turn_open


@pytest.mark.parametrize("name", ["g_interrupt_streaming", "g_interrupt_tool", "g_sigint_streaming", "f_priority_now"])
def test_an_interrupted_turn_ends_as_cancelled(name: str) -> None:
    assert of_kind(replay(name), "turn_complete")[0].turn_complete.stop_reason == "cancelled"


def test_an_api_error_is_reported_and_the_next_turn_works() -> None:
    events = replay("j_529_exhausted")
    error = only(events, "error").error
    assert (error.is_fatal, error.details["api_error_status"]) == (False, "529")
    assert "529 Overloaded" in error.message
    assert [event.turn_complete.stop_reason for event in of_kind(events, "turn_complete")] == ["error", "end_turn"]
    retries = [event.notice for event in of_kind(events, "notice")]
    assert [(notice.kind, notice.details["attempt"]) for notice in retries] == [
        (v1.NOTICE_KIND_API_RETRY, "1"),
        (v1.NOTICE_KIND_API_RETRY, "2"),
    ]


@pytest.mark.parametrize(("name", "reason"), [("j_max_turns", "max_turns"), ("j_no_key", "error")])
def test_a_turn_end_has_its_reason(name: str, reason: str) -> None:
    assert of_kind(replay(name), "turn_complete")[0].turn_complete.stop_reason == reason


@pytest.mark.parametrize("name", ["i_resume_unknown", "i_resume_not_uuid"])
def test_an_agent_that_could_not_take_up_the_conversation_has_ended_no_turn_and_consumed_nothing(name: str) -> None:
    events = replay(name)
    assert not of_kind(events, "turn_complete")
    assert not [event for event in events if event.message_state.state == v1.MESSAGE_STATE_CONSUMED]


def test_what_the_agent_denies_itself_is_a_notice() -> None:
    notice = only(replay("e_dontAsk"), "notice").notice
    assert (notice.kind, notice.details["tool_name"]) == (v1.NOTICE_KIND_AGENT, "Bash")


def test_an_unrequested_turn_names_its_trigger() -> None:
    turns = [event.turn_complete for event in of_kind(replay("x_background_shell"), "turn_complete")]
    assert [(turn.origin, len(turn.message_ids)) for turn in turns] == [("", 1), ("task-notification", 0)]
    notices = [event.notice for event in of_kind(replay("x_background_shell"), "notice")]
    assert [(notice.kind, notice.details["state"]) for notice in notices] == [
        (v1.NOTICE_KIND_BACKGROUND, "started"),
        (v1.NOTICE_KIND_BACKGROUND, "completed"),
    ]


def test_a_background_task_keeps_the_agent_until_it_ends() -> None:
    dialogue = PROVIDER.dialogue(SESSION, "")
    rest = up_to("x_background_shell", b'"result_index":0', dialogue)
    assert dialogue.view.holds == ("background task: Wait a little",)
    for record in rest:
        dialogue.receive(record)
    assert len(dialogue.view.holds) == 0


def test_scheduled_jobs_keep_the_agent() -> None:
    dialogue = PROVIDER.dialogue(SESSION, "")
    replay("x_cron", dialogue)
    assert dialogue.view.holds == ("scheduled: Every day at 9:00 AM",)
    assert not dialogue.view.turn_open
    dialogue = PROVIDER.dialogue(SESSION, "")
    replay("x_wakeup", dialogue)
    assert dialogue.view.holds == ("scheduled: a wake-up",)


def test_compaction_leaves_a_boundary() -> None:
    boundary = only(replay("s_compact.1"), "compaction").compaction
    assert (boundary.trigger, boundary.tokens_before, boundary.tokens_after) == ("manual", 120, 2601)
    statuses = [event.status_change.status for event in of_kind(replay("s_compact.1"), "status_change")]
    assert v1.COMPACTING in statuses


def test_after_clear_the_session_has_the_resumable_id() -> None:
    dialogue = PROVIDER.dialogue(SESSION, "")
    boundary = only(replay("x_clear", dialogue), "compaction").compaction
    assert boundary.new_conversation_id == dialogue.view.conversation_id == "a856b0f2-ac03-4fae-92c8-72dfacaac1d4"


def test_an_agents_end_leaves_what_was_open_to_be_judged() -> None:
    dialogue = PROVIDER.dialogue(SESSION, "")
    replay("h_kill9_permission.1", dialogue)
    assert dialogue.view.turn_open
    assert dialogue.view.open_requests == ("9dd020c6-e20e-4fe6-bd52-6f8803c1d8d6",)
    carried = PROVIDER.carry_over(dialogue.state(), PROVIDER.dialogue_version)
    fresh = PROVIDER.dialogue(SESSION, dialogue.view.conversation_id, carried, version=PROVIDER.dialogue_version)
    assert (fresh.view.turn_open, fresh.view.open_requests, fresh.view.holds) == (False, (), ())
    assert fresh.view.conversation_id == dialogue.view.conversation_id
    assert fresh.view.conversation_began


def test_a_continued_turn_consumes_the_message_of_the_process_before() -> None:
    turn = only(replay("h_kill9_rescue_permission.2"), "turn_complete").turn_complete
    consumed = only(replay("h_kill9_rescue_permission.2"), "message_state").message_state
    assert list(turn.message_ids) == [consumed.message_id]
    assert consumed.state == v1.MESSAGE_STATE_CONSUMED


def test_the_last_output_of_the_agent_is_stored_to_explain_its_exit() -> None:
    dialogue = PROVIDER.dialogue(SESSION, "")
    replay("i_session_id_twice.2", dialogue)
    assert dialogue.view.last_errors == ("Error: Session ID 11111111-2222-4333-8444-555555555555 is already in use.",)
    assert not dialogue.view.conversation_began
