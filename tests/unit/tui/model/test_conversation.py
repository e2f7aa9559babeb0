"""What becomes of each kind of event."""

import pytest
from google.protobuf import struct_pb2

from betcode.tui.model.blocks import (
    Asked,
    AskedState,
    Block,
    Cut,
    Said,
    Thoughts,
    Told,
    Tone,
    ToolState,
    ToolUse,
    TurnEnd,
    Words,
)
from betcode.tui.model.conversation import Conversation
from betcode.v1 import agent_pb2 as v1
from betcode.v1 import version_pb2
from support.shown_blocks import numbered


def _text(text: str, message_id: str = "m1", *, settled: bool = False, parent: str = "") -> v1.AgentEvent:
    delta = v1.TextDelta(text=text, message_id=message_id, is_complete=settled)
    return v1.AgentEvent(text_delta=delta, parent_tool_use_id=parent)


def _start(tool_id: str, parent: str = "") -> v1.AgentEvent:
    given = struct_pb2.Struct()
    given.update({"command": "ls -l"})
    start = v1.ToolCallStart(tool_id=tool_id, tool_name="Bash", input=given, input_json='{"command":"ls -l"}')
    return v1.AgentEvent(tool_call_start=start, parent_tool_use_id=parent)


def _result(tool_id: str, output: str = "done", *, is_error: bool = False, denied_by: str = "") -> v1.AgentEvent:
    result = v1.ToolCallResult(tool_id=tool_id, output=output, is_error=is_error, denied_by=denied_by, duration_ms=1500)
    return v1.AgentEvent(tool_call_result=result)


def _end(reason: str = "end_turn") -> v1.AgentEvent:
    return v1.AgentEvent(turn_complete=v1.TurnComplete(stop_reason=reason))


def _said(message_id: str = "m", client_id: str = "") -> v1.AgentEvent:
    return v1.AgentEvent(user_input=v1.UserInput(content="Go", message_id=message_id, client_id=client_id))


def _asked(request_id: str) -> v1.AgentEvent:
    return v1.AgentEvent(permission_request=v1.PermissionRequest(request_id=request_id, tool_name="Bash"))


def _resolved(request_id: str, resolution: str = "answered", **more: object) -> v1.AgentEvent:
    resolved = v1.PermissionResolved(request_id=request_id, resolution=resolution, **more)  # type: ignore[arg-type]
    return v1.AgentEvent(permission_resolved=resolved)


def _of(*events: v1.AgentEvent) -> Conversation:
    conversation = Conversation("me")
    conversation.take(numbered(events))
    return conversation


def _blocks(*events: v1.AgentEvent) -> list[Block]:
    return _of(*events).blocks


def _tool(*events: v1.AgentEvent) -> ToolUse:
    block = _blocks(*events)[0]
    assert isinstance(block, ToolUse)
    return block


def _words(block: Block) -> Words:
    assert isinstance(block, Words)
    return block


def test_deltas_grow_until_the_settled_text_takes_their_place() -> None:
    conversation = _of(_text("Hel"), _text("lo"))
    words = _words(conversation.blocks[0])
    assert (words.text, words.is_settled) == ("Hello", False)
    conversation.take(numbered([_text("Hello!", settled=True), _text(" late")], first=3))
    assert (words.text, words.is_settled, words.is_partial) == ("Hello!", True, False)


def test_an_empty_settled_text_takes_its_deltas_back() -> None:
    assert _words(_blocks(_text("No"), _text("", settled=True))[0]).text == ""


def test_words_without_an_id_go_on_until_they_are_settled() -> None:
    blocks = _blocks(_text("a", ""), _text("b", ""), _text("ab", "", settled=True), _text("next", ""))
    assert [_words(block).text for block in blocks] == ["ab", "next"]


def test_thoughts_and_words_of_one_message_are_two_blocks() -> None:
    thinking = v1.AgentEvent(thinking_delta=v1.ThinkingDelta(text="hm", message_id="m1"))
    assert [type(block) for block in _blocks(thinking, _text("ah"))] == [Thoughts, Words]


@pytest.mark.parametrize("reason", ["end_turn", "cancelled", "crashed"])
def test_what_is_open_when_a_turn_ends_is_broken_off(reason: str) -> None:
    words, use, _ = _blocks(_text("I beg"), _start("t1"), _end(reason))
    assert _words(words).is_partial
    assert isinstance(use, ToolUse)
    assert use.state is ToolState.BROKEN_OFF


def test_a_result_that_comes_after_all_counts() -> None:
    assert _tool(_start("t1"), _end("cancelled"), _result("t1")).state is ToolState.DONE


def test_a_call_has_its_input_output_and_duration() -> None:
    use = _tool(_start("t1"), _result("t1", "a.txt"))
    assert (use.name, use.telling, use.input_json) == ("Bash", "ls -l", '{"command":"ls -l"}')
    assert (use.output, use.duration_ms, use.state) == ("a.txt", 1500, ToolState.DONE)


@pytest.mark.parametrize(
    ("result", "state"),
    [
        (_result("t1", is_error=True), ToolState.FAILED),
        (_result("t1", is_error=True, denied_by="answer"), ToolState.DENIED),
        (_result("t1"), ToolState.DONE),
    ],
)
def test_a_call_ends_as_its_result_says(result: v1.AgentEvent, state: ToolState) -> None:
    assert _tool(_start("t1"), result).state is state


def test_things_to_do_are_told_by_the_line_of_the_call_that_wrote_them_down() -> None:
    todo = v1.AgentEvent(todo_update=v1.TodoUpdate(items=[v1.TodoItem(subject="Read", status=v1.COMPLETED)]))
    (use,) = _blocks(_start("t1"), _result("t1"), todo)
    assert isinstance(use, ToolUse)
    assert use.progress == "1 of 1 things done"
    later = _blocks(_start("t1"), _result("t1"), _text("Now"), todo)
    assert [type(block) for block in later] == [ToolUse, Words, Told]


def test_cuts_of_call_and_result_are_kept() -> None:
    start, result = _start("t1"), _result("t1")
    start.cuts.add(field="tool_call_start.input_json", size_bytes=9, sha256="a")
    result.cuts.add(field="tool_call_result.output", size_bytes=8, sha256="b")
    wanted = (Cut("tool_call_start.input_json", 9, "a"), Cut("tool_call_result.output", 8, "b"))
    assert _tool(start, result).cuts == wanted


def test_of_a_long_output_both_ends_are_kept_and_where_the_whole_is() -> None:
    output = "first\n" + "x" * 100_000 + "\nlast"
    use = _tool(_start("t1"), _result("t1", output))
    assert len(use.output) < 70_000
    assert (use.output[:6], use.output[-5:]) == ("first\n", "\nlast")
    assert use.cuts == (Cut("tool_call_result.output", len(output), "", 2),)


def test_a_result_without_its_call_stands_alone_until_that_is_loaded() -> None:
    conversation = Conversation()
    call, result = numbered([_start("t1"), _result("t1")])
    conversation.take([result])
    use = conversation.blocks[0]
    assert isinstance(use, ToolUse)
    assert (use.is_called, use.output) == (False, "done")
    conversation.prepend([call])
    assert conversation.blocks == [use]
    assert (use.is_called, use.name, use.output, use.state) == (True, "Bash", "done", ToolState.DONE)


def test_subagents_stand_below_their_calls_to_any_depth() -> None:
    outer = _tool(_start("t1"), _start("t2", "t1"), _start("t3", "t2"), _text("deep", parent="t3"))
    inner = outer.children[0]
    assert isinstance(inner, ToolUse)
    innermost = inner.children[0]
    assert isinstance(innermost, ToolUse)
    assert _words(innermost.children[0]).text == "deep"


def test_a_subagent_in_the_background_outlives_the_turn_but_not_its_agent() -> None:
    beginning = (_start("t1"), _result("t1"), _start("t2", "t1"), _end())
    below = _tool(*beginning).children[0]
    assert isinstance(below, ToolUse)
    assert below.state is ToolState.RUNNING
    crash = v1.AgentEvent(error=v1.ErrorEvent(code="SUBPROCESS_CRASHED", message="it ended"))
    below = _tool(*beginning, crash).children[0]
    assert isinstance(below, ToolUse)
    assert below.state is ToolState.BROKEN_OFF


def test_a_subagent_is_a_root_until_its_call_is_loaded() -> None:
    events = numbered([_start("t1"), _text("deep", parent="t1")])
    conversation = Conversation()
    conversation.take(events[1:])
    words = conversation.blocks[0]
    conversation.prepend(events[:1])
    use = conversation.blocks[0]
    assert isinstance(use, ToolUse)
    assert use.children == [words]
    assert len(conversation.blocks) == 1


def test_a_message_has_its_state_its_files_and_who_typed_it() -> None:
    said = _said("m", "phone-1")
    said.user_input.attachments.append("a.png")
    conversation = _of(said, _said("n", "me"))
    here = v1.PresentClient(client_id="phone-1", client_type="web", client_name="the phone")
    state = v1.MessageStateChange(message_id="m", state=v1.MESSAGE_STATE_CANCELLED, reason="cancelled")
    conversation.take([v1.AgentEvent(presence=v1.Presence(clients=[here]))])
    conversation.take(numbered([v1.AgentEvent(message_state=state)], first=3))
    theirs, ours = conversation.blocks
    assert isinstance(theirs, Said)
    assert isinstance(ours, Said)
    assert (theirs.by, theirs.attachments) == ("web the phone", ("a.png",))
    assert (theirs.state, theirs.reason) == (v1.MESSAGE_STATE_CANCELLED, "cancelled")
    assert ours.by == ""


def test_a_file_of_the_project_is_called_without_it() -> None:
    starts = []
    for number, said in enumerate(({"file_path": "/w/a.py"}, {"path": "/w2/a.py"}, {"command": "/w/run"})):
        start = v1.ToolCallStart(tool_id=f"t{number}", tool_name="Do")
        start.input.update(said)
        starts.append(v1.AgentEvent(tool_call_start=start))
    conversation = Conversation("me", "/w")
    conversation.take(numbered(starts))
    assert [use.telling for use in conversation.blocks if isinstance(use, ToolUse)] == ["a.py", "/w2/a.py", "/w/run"]


def test_what_the_same_person_typed_before_is_not_signed() -> None:
    conversation = Conversation("kim@desk-0a1b2c3d")
    conversation.take(numbered([_said("m", "kim@desk-99887766"), _said("n", "kim@other-99887766")]))
    here = v1.PresentClient(client_id="kim@desk-99887766", client_type="tui", client_name="kim@desk, pts/2")
    conversation.take([v1.AgentEvent(presence=v1.Presence(clients=[here]))])
    signed = [block.by for block in conversation.blocks if isinstance(block, Said)]
    assert signed == ["", "kim@other-99887766"]


@pytest.mark.parametrize(
    ("resolved", "state", "outcome"),
    [
        (_resolved("r", decision=v1.ALLOW_ONCE), AskedState.ALLOWED, "Allowed"),
        (_resolved("r", decision=v1.DENY, message="no"), AskedState.DENIED, "Denied: no"),
        (_resolved("r", "expired"), AskedState.GONE, "The question is expired"),
        (_resolved("r", "superseded", superseded_by="q"), AskedState.GONE, "The question is superseded"),
    ],
)
def test_a_permission_shows_what_became_of_it(resolved: v1.AgentEvent, state: AskedState, outcome: str) -> None:
    asked = _blocks(_asked("r"), resolved)[0]
    assert isinstance(asked, Asked)
    assert (asked.title, asked.state, asked.outcome) == ("Bash", state, outcome)


def test_questions_that_were_asked_together_are_answered_together() -> None:
    asked = [
        v1.AgentEvent(user_question=v1.UserQuestion(question_id=f"g#{n}", group_id="g", question=f"{n}?"))
        for n in (1, 2)
    ]
    first, second = _blocks(*asked, _resolved("g", decision=v1.ALLOW_ONCE))
    for question in (first, second):
        assert isinstance(question, Asked)
        assert (question.state, question.outcome) == (AskedState.ANSWERED, "Answered")


def test_a_prompt_that_is_shown_again_to_a_new_stream_is_no_second_one() -> None:
    conversation = _of(_asked("r"))
    conversation.take([_asked("r"), _asked("older")])
    assert len(conversation.blocks) == 1


def test_the_end_of_a_turn_says_what_it_took() -> None:
    usage = v1.AgentEvent(usage=v1.UsageReport(duration_ms=2000, cost_usd=0.5))
    end = _blocks(usage, _end())[0]
    assert isinstance(end, TurnEnd)
    assert (end.stop_reason, end.summary) == ("end_turn", "2.0 s, $0.5000")


@pytest.mark.parametrize(
    ("event", "line", "tone"),
    [
        (v1.AgentEvent(error=v1.ErrorEvent(message="it broke")), "error: it broke", Tone.BAD),
        (v1.AgentEvent(gap=v1.Gap(reason="a lost line")), "Something is missing here: a lost line", Tone.BAD),
        (v1.AgentEvent(plan_mode=v1.PlanModeChange(active=True)), "Plan mode is on", Tone.QUIET),
        (v1.AgentEvent(compaction=v1.CompactionBoundary()), "The conversation was compacted", Tone.NOTABLE),
        (
            v1.AgentEvent(permission_reminder=v1.PermissionReminder(tool_name="Bash")),
            "Still waiting for an answer: Bash",
            Tone.QUIET,
        ),
        (
            v1.AgentEvent(
                todo_update=v1.TodoUpdate(
                    items=[
                        v1.TodoItem(subject="Read", status=v1.COMPLETED),
                        v1.TodoItem(subject="Write", active_form="Writing", status=v1.IN_PROGRESS),
                    ]
                )
            ),
            "1 of 2 things done, now: Writing",
            Tone.QUIET,
        ),
        (v1.AgentEvent(notice=v1.Notice(kind=v1.NOTICE_KIND_API_RETRY, message="again")), "again", Tone.QUIET),
        (v1.AgentEvent(notice=v1.Notice(kind=v1.NOTICE_KIND_RUN, message="ended")), "ended", Tone.NOTABLE),
        (v1.AgentEvent(notice=v1.Notice(kind=v1.NOTICE_KIND_BUDGET, message="reached")), "reached", Tone.NOTABLE),
        (v1.AgentEvent(notice=v1.Notice(kind=v1.NOTICE_KIND_FORK, message="forked")), "forked", Tone.NOTABLE),
        (
            v1.AgentEvent(notice=v1.Notice(kind=v1.NOTICE_KIND_AGENT, message="hm", details={"level": "warning"})),
            "hm",
            Tone.NOTABLE,
        ),
    ],
)
def test_what_is_told_beside_the_conversation_has_words_and_a_tone(event: v1.AgentEvent, line: str, tone: Tone) -> None:
    told = _blocks(event)[0]
    assert isinstance(told, Told)
    assert (told.lines, told.tone) == ((line,), tone)


def test_a_deprecation_is_told_once_however_many_streams_tell_it() -> None:
    warning = version_pb2.DeprecationWarning(feature="x", severity=version_pb2.WARNING, removal_version="2")
    conversation = _of(_said())
    conversation.take([v1.AgentEvent(deprecation=warning)])
    conversation.take([v1.AgentEvent(deprecation=warning)])
    assert [type(block) for block in conversation.blocks] == [Said, Told]


def test_how_things_stand_is_no_part_of_the_conversation() -> None:
    assert (
        _blocks(
            v1.AgentEvent(status_change=v1.StatusChange(status=v1.IDLE)),
            v1.AgentEvent(session_info=v1.SessionInfo(model="m")),
            v1.AgentEvent(input_lock=v1.InputLockChange()),
            v1.AgentEvent(),
        )
        == []
    )


def test_when_the_session_has_ended_nothing_is_at_work_any_more() -> None:
    conversation = _of(_start("t1"))
    conversation.end()
    use = conversation.blocks[0]
    assert isinstance(use, ToolUse)
    assert use.state is ToolState.BROKEN_OFF


def test_a_subagent_of_a_call_that_was_broken_off_went_with_it() -> None:
    below = _tool(_start("t1"), _start("t2", "t1"), _end("cancelled")).children[0]
    assert isinstance(below, ToolUse)
    assert below.shown_state is ToolState.BROKEN_OFF


# ---------------------------------------------------------------- revisions


def _revisions(conversation: Conversation) -> dict[str, int]:
    left = list(conversation.blocks)
    found: dict[str, int] = {}
    while left:
        block = left.pop()
        found[block.key] = block.revision
        left += block.children if isinstance(block, ToolUse) else []
    return found


def _changed_by(conversation: Conversation, *events: v1.AgentEvent) -> set[str]:
    before = _revisions(conversation)
    conversation.take(numbered(events, first=conversation.newest + 1))
    after = _revisions(conversation)
    return {key for key, revision in after.items() if before.get(key) != revision}


def test_only_what_changed_and_what_it_stands_below_is_drawn_again() -> None:
    conversation = _of(
        _said(),
        _text("Hi"),
        _start("t1"),
        _start("t2", "t1"),
        _text("deep", "m2", parent="t2"),
        _start("t4"),
        _asked("r"),
    )
    assert _changed_by(conversation, _text("!")) == {"words-m1-0"}
    assert _changed_by(conversation, _text("er", "m2", parent="t2")) == {"words-m2-0", "tool-t2", "tool-t1"}
    assert _changed_by(conversation, _start("t3", "t1")) == {"tool-t3", "tool-t1"}
    assert _changed_by(conversation, _result("t4")) == {"tool-t4"}
    assert _changed_by(conversation, _resolved("r", decision=v1.DENY)) == {"ask-r"}
    assert _changed_by(conversation, v1.AgentEvent(status_change=v1.StatusChange())) == set()
    assert _changed_by(conversation, _end()) == {"words-m1-0", "tool-t1", "end-14"}


def test_an_older_page_changes_only_what_goes_on_from_it() -> None:
    usage = v1.AgentEvent(usage=v1.UsageReport(duration_ms=2000))
    events = numbered([_text("Hel"), _start("t1"), usage, _text("lo"), _text("other", "m2"), _result("t1"), _end()])
    conversation = Conversation()
    conversation.take(events[3:])
    before = _revisions(conversation)
    conversation.prepend(events[:3])
    after = _revisions(conversation)
    assert {key for key in before if before[key] != after[key]} == {"words-m1-0", "tool-t1", "end-7"}


def test_what_was_said_first_is_known_when_the_beginning_is_loaded() -> None:
    conversation = _of(v1.AgentEvent(notice=v1.Notice(message="begins")), _said("a"))
    assert conversation.opening == "Go"
    conversation.has_older = True
    assert conversation.opening == ""
