"""What no recording shows: broken lines, odd clocks, translators that raise, states of other versions."""

import dataclasses
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from betcode.domain.events.size_limit import bound
from betcode.domain.runs.journal_record import Record, RecordKind
from betcode.providers.claude.dialogue import HANDLERS, ClaudeDialogue
from betcode.providers.claude.event_builder import ClaudeEventBuilder
from betcode.providers.claude.provider import ClaudeProvider
from betcode.providers.claude.state import State
from betcode.v1 import agent_pb2 as v1
from betcode.wire.frames import Assistant, Result
from support.deep_json import UNREADABLY_DEEP
from support.recordings.claude import SESSION, WIRE, record, records_of
from support.recordings.dialogue import INIT, RESULT, fresh, hear, say

PROVIDER = ClaudeProvider()


def kinds(events: list[v1.AgentEvent]) -> list[str | None]:
    return [event.WhichOneof("event") for event in events]


def delta(text: str, index: int = 0) -> dict[str, Any]:
    event = {"type": "content_block_delta", "index": index, "delta": {"type": "text_delta", "text": text}}
    return {"type": "stream_event", "event": event}


def started(message_id: str, tokens: int = 0) -> dict[str, Any]:
    message = {"id": message_id, "usage": {"input_tokens": tokens}}
    return {"type": "stream_event", "event": {"type": "message_start", "message": message}}


def said(message_id: str, *blocks: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "assistant", "message": {"id": message_id, "content": list(blocks)}, **more}


def tool_use(tool_id: str, name: str = "Bash", **tool_input: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": tool_id, "name": name, "input": tool_input}


def tool_result(tool_id: str, content: Any = "done", **more: Any) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": tool_id, "content": content}
    return {"type": "user", "message": {"content": [block]}, **more}


# ---------------------------------------------------------------- broken lines


@pytest.mark.behaviour("wire.stdout.invalid-json-skipped")
def test_broken_lines_are_told_counted_and_never_fatal() -> None:
    dialogue = fresh()
    say(dialogue, INIT)
    first = say(dialogue, "not json")
    assert first[0].notice.kind == v1.NOTICE_KIND_MALFORMED
    assert first[0].notice.details["excerpt"] == "not json"
    assert say(dialogue, '{"type":', "more junk") == []
    after = say(dialogue, said("m1", {"type": "text", "text": "fine"}))
    assert kinds(after) == ["notice", "text_delta"]
    assert after[0].notice.details["lines"] == "2"
    assert kinds(say(dialogue, RESULT))[-2:] == ["turn_complete", "status_change"]


def test_a_lone_surrogate_does_not_keep_a_turn_open() -> None:
    dialogue = fresh()
    say(dialogue, INIT)
    events = say(dialogue, b'{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"a\\ud800b"}]}}')
    assert events[0].text_delta.text == "a\ufffdb"
    say(dialogue, b'{"type":"result","subtype":"success","result":"\\udead","user_message_uuids":["\\ud800"]}')
    assert not dialogue.view.turn_open


def test_a_line_that_makes_a_translator_raise_is_passed_over_and_the_turn_still_ends() -> None:
    def explode(frame: Assistant | Result, now: ClaudeEventBuilder) -> None:
        now.state.turn = False
        now.new_event().text_delta.text = "half done"
        raise RuntimeError("unforeseen")

    dialogue = ClaudeDialogue(SESSION, State(), handlers={**HANDLERS, Assistant: explode, Result: explode})
    say(dialogue, INIT)
    events = say(dialogue, said("m1", {"type": "text", "text": "x"}))
    assert kinds(events) == ["notice"]
    assert events[0].notice.kind == v1.NOTICE_KIND_MALFORMED
    assert dialogue.view.turn_open  # the half-done change was taken back
    ended = say(dialogue, RESULT)
    assert kinds(ended) == ["notice", "turn_complete", "status_change"]
    assert ended[1].turn_complete.stop_reason == "error"
    assert not dialogue.view.turn_open
    again = PROVIDER.dialogue(SESSION, "", dialogue.state(), version=PROVIDER.dialogue_version)
    assert not again.view.turn_open


def test_a_line_over_the_limit_says_so_and_ends_its_tool() -> None:
    dialogue = fresh()
    say(dialogue, INIT, said("m1", tool_use("t1", command="cat big")))
    head = b'{"type":"user","message":{"content":[{"tool_use_id":"t1","type":"tool_result","content":"xxxx'
    long = dataclasses.replace(record(head), too_long=True, offset=0, end=70_000_000)
    events = dialogue.receive(long)
    assert kinds(events) == ["notice", "tool_call_result", "status_change"]
    assert "70000000 bytes" in events[0].notice.message
    assert events[1].tool_call_result.tool_id == "t1"


def test_a_result_over_the_limit_ends_the_turn() -> None:
    dialogue = fresh()
    say(dialogue, INIT)
    long = dataclasses.replace(record(b'{"duration_api_ms":1,"total_cost_usd":0.1,"result":"xx'), too_long=True)
    assert kinds(dialogue.receive(long)) == ["notice", "turn_complete", "status_change"]


def test_a_damaged_journal_leaves_a_gap() -> None:
    damaged = Record(RecordKind.DAMAGED, 0, 0, 0, b"checksum does not fit", 100, 350)
    [event] = fresh().receive(damaged)
    assert (event.gap.reason, event.gap.bytes_lost) == ("checksum does not fit", 250)


@given(st.data())
def test_fuzzed_lines_never_raise_and_the_state_can_be_stored(data: st.DataObject) -> None:
    dialogue = fresh()
    for one in records_of(WIRE / "k_subagent_background.ndjson"):
        line = one.data
        if data.draw(st.integers(0, 9)) == 0:
            place = data.draw(st.integers(0, len(line)))
            line = line[:place] + data.draw(st.binary(max_size=6)) + line[place + 3 :]
        for event in dialogue.receive(dataclasses.replace(one, data=line)):
            event.SerializeToString()
    PROVIDER.dialogue(SESSION, "", dialogue.state(), version=PROVIDER.dialogue_version)


# ---------------------------------------------------------------- tools


def test_a_clock_that_goes_back_gives_no_negative_duration() -> None:
    dialogue = fresh()
    say(dialogue, INIT, said("m1", tool_use("t1")), at_ms=5000)
    [result, _] = say(dialogue, tool_result("t1"), at_ms=1000)
    assert result.tool_call_result.duration_ms == 0


def test_a_tool_that_ran_for_months_has_the_longest_duration_there_is() -> None:
    dialogue = fresh()
    say(dialogue, INIT, said("m1", tool_use("t1")))
    [result, _] = say(dialogue, tool_result("t1"), at_ms=2.0**33)
    assert result.tool_call_result.duration_ms == 2**32 - 1


@pytest.mark.behaviour("events.tool.start-from-assistant", "events.tool.result")
def test_a_call_or_result_said_twice_counts_once() -> None:
    dialogue = fresh()
    say(dialogue, INIT)
    call = said("m1", tool_use("t1"))
    assert kinds(say(dialogue, call, call)).count("tool_call_start") == 1
    assert kinds(say(dialogue, tool_result("t1"), tool_result("t1"), call)).count("tool_call_result") == 1


def test_a_result_of_several_parts_is_joined() -> None:
    dialogue = fresh()
    say(dialogue, INIT, said("m1", tool_use("t1")))
    parts = [{"type": "text", "text": "a"}, {"type": "image", "source": {"data": "…"}}, {"type": "text", "text": "b"}]
    assert say(dialogue, tool_result("t1", parts))[0].tool_call_result.output == "a\n[image]\nb"


def test_a_tool_whose_call_was_lost_starts_with_its_prompt() -> None:
    dialogue = fresh()
    say(dialogue, INIT)
    asked = {"subtype": "can_use_tool", "tool_name": "Bash", "input": {"command": "ls"}, "tool_use_id": "t1"}
    events = say(dialogue, {"type": "control_request", "request_id": "r1", "request": asked})
    assert kinds(events) == ["tool_call_start", "status_change", "permission_request", "status_change"]


@pytest.mark.parametrize("levels", [200, 5000])
def test_an_input_nested_beyond_measure_is_shown_in_part(levels: int) -> None:
    dialogue = fresh()
    say(dialogue, INIT)
    deep = '{"a":' * levels + "1" + "}" * levels
    call = '{"type":"tool_use","id":"t","name":"X","input":' + deep + "}"
    event, _ = bound(say(dialogue, '{"type":"assistant","message":{"id":"m","content":[' + call + "]}}")[0])
    assert event.tool_call_start.tool_id == "t"
    assert v1.AgentEvent.FromString(event.SerializeToString()) == event


def test_an_input_that_cannot_be_read_is_shown_as_it_came() -> None:
    dialogue = fresh()
    say(dialogue, INIT)
    deep = UNREADABLY_DEEP
    asked = '{"subtype":"can_use_tool","tool_name":"X","tool_use_id":"t","input":' + deep + "}"
    events = say(dialogue, '{"type":"control_request","request_id":"r","request":' + asked + "}")
    request = next(event.permission_request for event in events if event.HasField("permission_request"))
    assert request.input_json == deep
    assert request.note == f"The input could not be read; it is {len(deep)} bytes"


def test_twenty_megabytes_pass_through_and_are_whole_in_the_event() -> None:
    dialogue = fresh()
    say(dialogue, INIT)
    big = "x" * 20_000_000
    start, _ = say(dialogue, said("m1", tool_use("t1", command=big)))
    assert len(start.tool_call_start.input_json) > 20_000_000
    result, _ = say(dialogue, tool_result("t1", big))
    assert result.tool_call_result.output == big
    assert len(dialogue.state()) < 2000


# ---------------------------------------------------------------- text


def test_a_stream_that_begins_anew_voids_what_it_had_shown() -> None:
    dialogue = fresh()
    say(dialogue, INIT, started("m1"), delta("Hel"))
    [void] = say(dialogue, started("m2"))
    assert void.text_delta == v1.TextDelta(text="", is_complete=True, message_id="m1")
    events = say(dialogue, delta("Hello"), said("m2", {"type": "text", "text": "Hello"}))
    assert [event.text_delta.text for event in events] == ["Hello", "Hello"]


def test_text_that_ended_well_but_was_never_settled_stays() -> None:
    dialogue = fresh()
    say(dialogue, INIT, started("m1"), delta("Hello"))
    stop = {"type": "stream_event", "event": {"type": "message_stop"}}
    assert say(dialogue, stop, started("m2")) == []


def test_blocks_of_one_whole_message_are_numbered() -> None:
    dialogue = fresh()
    say(dialogue, INIT)
    events = say(dialogue, said("m1", {"type": "text", "text": "a"}, tool_use("t1"), {"type": "text", "text": "b"}))
    assert [(event.text_delta.text, event.text_delta.block) for event in events if event.HasField("text_delta")] == [
        ("a", 0),
        ("b", 2),
    ]


# ---------------------------------------------------------------- messages and turns


@pytest.mark.behaviour("events.status.thinking")
def test_a_delta_without_an_init_still_begins_a_turn() -> None:
    assert kinds(say(fresh(), delta("x"))) == ["status_change", "text_delta"]


def test_an_agent_that_names_no_messages_has_answered_those_it_was_given() -> None:
    dialogue = fresh()
    line = {"type": "user", "message": {"role": "user", "content": "hi"}, "uuid": "u1"}
    assert hear(dialogue, line)[0].message_state.state == v1.MESSAGE_STATE_DELIVERED
    assert dialogue.view.turn_open
    events = say(dialogue, INIT, RESULT)
    assert list(events[-2].turn_complete.message_ids) == ["u1"]
    assert not dialogue.view.turn_open


def test_a_message_that_arrived_during_a_turn_waits_for_the_next() -> None:
    dialogue = fresh()
    lifecycle = {"type": "command_lifecycle", "state": "queued"}
    hear(dialogue, {"type": "user", "message": {"role": "user", "content": "1"}, "uuid": "u1"})
    say(dialogue, {**lifecycle, "command_uuid": "u1"}, INIT)
    hear(dialogue, {"type": "user", "message": {"role": "user", "content": "2"}, "uuid": "u2"})
    events = say(dialogue, {**RESULT, "user_message_uuids": ["u1"]})
    assert kinds(events) == ["message_state", "usage", "turn_complete"]  # not idle
    assert dialogue.view.turn_open


@pytest.mark.behaviour("events.usage.fields")
def test_cost_is_the_difference_of_cumulative_totals_across_a_resume() -> None:
    dialogue = fresh()
    costs = [event.usage.cost_usd for event in say(dialogue, INIT, RESULT, INIT, {**RESULT, "total_cost_usd": 0.75})]
    assert [cost for cost in costs if cost] == [0.5, 0.25]
    carried = PROVIDER.carry_over(dialogue.state(), PROVIDER.dialogue_version)
    after = PROVIDER.dialogue(SESSION, "c", carried, version=PROVIDER.dialogue_version)
    events = after.receive(record({**RESULT, "total_cost_usd": 1.0}))
    [usage] = [event.usage for event in events if event.HasField("usage")]
    assert usage.cost_usd == 0.25


@pytest.mark.behaviour("events.usage.fields")
def test_a_total_that_a_killed_process_took_along_is_not_counted_as_negative() -> None:
    dialogue = fresh()
    say(dialogue, INIT, RESULT)
    events = say(dialogue, INIT, {**RESULT, "total_cost_usd": 0.25})
    assert next(event.usage.cost_usd for event in events if event.HasField("usage")) == 0.25
    assert all(event.usage.cost_usd >= 0 for event in events)


def test_tokens_beyond_the_field_are_clamped() -> None:
    dialogue = fresh()
    events = say(dialogue, INIT, {**RESULT, "usage": {"input_tokens": 2**40, "output_tokens": -5}, "duration_ms": -1})
    usage = next(event.usage for event in events if event.HasField("usage"))
    assert (usage.input_tokens, usage.output_tokens, usage.duration_ms) == (2**32 - 1, 0, 0)


@pytest.mark.behaviour("events.system-init")
def test_the_filling_of_the_context_is_told_when_it_has_changed() -> None:
    dialogue = fresh()
    usage = {"modelUsage": {"m": {"contextWindow": 1000}}}
    events = say(dialogue, INIT, started("m1", tokens=250), {**RESULT, **usage})
    assert [event.session_info.context_usage_percent for event in events if event.HasField("session_info")] == [0, 25]
    again = say(dialogue, INIT, started("m2", tokens=251), {**RESULT, **usage})
    assert "session_info" not in kinds(again)


def test_a_refusal_is_the_reason_a_turn_stopped() -> None:
    dialogue = fresh()
    events = say(dialogue, INIT, {**RESULT, "stop_reason": "refusal"})
    assert events[-2].turn_complete.stop_reason == "refusal"


def test_a_failed_result_without_an_error_before_it_is_told() -> None:
    dialogue = fresh()
    failed = {"type": "result", "subtype": "error_during_execution", "is_error": True, "errors": ["out of memory"]}
    events = say(dialogue, INIT, failed)
    assert [event.error.message for event in events if event.HasField("error")] == ["out of memory"]
    limited = {"type": "result", "subtype": "success", "is_error": True, "api_error_status": 429, "result": "slow down"}
    events = say(dialogue, INIT, limited)
    assert [event.error.code for event in events if event.HasField("error")] == ["RATE_LIMITED"]


def test_a_usage_limit_that_comes_near_is_a_notice() -> None:
    dialogue = fresh()
    limits = {"status": "allowed_warning", "resetsAt": 1771390800, "rateLimitType": "five_hour"}
    [event] = say(dialogue, {"type": "rate_limit_event", "rate_limit_info": limits})
    assert event.notice.details["resets_at"] == "1771390800"
    assert say(dialogue, {"type": "rate_limit_event", "rate_limit_info": {"status": "allowed"}}) == []


def test_a_deleted_job_no_longer_keeps_the_agent() -> None:
    dialogue = fresh()
    say(dialogue, INIT, said("m1", tool_use("t1", "CronCreate", cron="* * * * *")))
    say(dialogue, tool_result("t1", tool_use_result={"id": "job", "humanSchedule": "Every minute", "recurring": True}))
    assert dialogue.view.holds == ("scheduled: Every minute",)
    say(dialogue, said("m2", tool_use("t2", "CronDelete", id="job")), tool_result("t2"))
    assert len(dialogue.view.holds) == 0


def test_a_wakeup_that_was_due_no_longer_keeps_the_agent() -> None:
    dialogue = fresh()
    say(dialogue, INIT, said("m1", tool_use("t1", "ScheduleWakeup")))
    due_ms = record({}).wall_ns // 1_000_000 + 60_000
    say(dialogue, tool_result("t1", tool_use_result={"scheduledFor": due_ms}), RESULT)
    assert dialogue.view.holds == ("scheduled: a wake-up",)
    say(dialogue, INIT, RESULT, at_ms=61_000)
    assert len(dialogue.view.holds) == 0


# ---------------------------------------------------------------- stderr, state


def test_what_the_agent_writes_to_stderr_is_bounded() -> None:
    dialogue = fresh()
    events = [event for n in range(100) for event in dialogue.receive(record(f"{n} " + "x" * 9000, RecordKind.ERR))]
    assert len(events) == 20
    assert all(len(event.notice.message) <= 500 for event in events)
    assert len(dialogue.view.last_errors) == 5
    assert dialogue.view.last_errors[-1].startswith("99 ")
    assert len(dialogue.state()) < 4000


def test_a_state_of_another_version_is_taken_up_at_the_next_turn_with_a_note() -> None:
    dialogue = PROVIDER.dialogue(SESSION, "c", b"whatever", version=99)
    assert dialogue.receive(record(delta("in the middle"))) == []
    events = dialogue.receive(record(INIT))
    assert kinds(events) == ["notice", "session_info", "status_change"]
    assert events[0].notice.kind == v1.NOTICE_KIND_RUN
    assert PROVIDER.carry_over(b"whatever", 99) == b""


def test_a_long_life_leaves_a_small_state() -> None:
    dialogue = fresh()
    for turn in range(300):
        message = {"type": "user", "message": {"role": "user", "content": "hi"}, "uuid": f"{turn:036}"}
        hear(dialogue, message)
        say(dialogue, INIT, said(f"m{turn}", *(tool_use(f"tool-{turn}-{n}") for n in range(10))))
        say(dialogue, {**RESULT, "user_message_uuids": [f"{turn:036}"]})
    assert len(dialogue.state()) < 8000
    for n in range(60):
        say(dialogue, said(f"m{n}", tool_use(f"list-{n}", "TodoWrite", todos=[{"content": "x" * 900}] * 300)))
        say(dialogue, said(f"n{n}", tool_use(f"one-{n}", "TaskCreate", subject="y" * 900)))
    assert len(dialogue.state()) < 128 * 1024
