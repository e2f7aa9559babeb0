"""The blocks of tool calls and of their subagents."""

import pytest

from betcode.tui.model.blocks import (
    AgentText,
    NoticeBlock,
    ToolCallBlock,
    ToolState,
    TruncatedField,
)
from betcode.tui.model.conversation import ConversationModel
from betcode.v1 import agent_pb2 as v1
from support.screens.blocks import numbered
from support.screens.events import (
    blocks_of,
    end_event,
    result_event,
    start_event,
    text_event,
    tool_of,
    words_of,
)


@pytest.mark.parametrize("reason", ["end_turn", "cancelled", "crashed"])
def test_open_calls_are_broken_off_at_the_end_of_a_turn(reason: str) -> None:
    words, use, _ = blocks_of(text_event("I beg"), start_event("t1"), end_event(reason))
    assert words_of(words).is_partial
    assert isinstance(use, ToolCallBlock)
    assert use.state is ToolState.BROKEN_OFF


def test_a_result_that_comes_after_all_counts() -> None:
    assert tool_of(start_event("t1"), end_event("cancelled"), result_event("t1")).state is ToolState.DONE


def test_a_call_has_its_input_output_and_duration() -> None:
    use = tool_of(start_event("t1"), result_event("t1", "a.txt"))
    assert (use.name, use.input_summary, use.input_json) == ("Bash", "ls -l", '{"command":"ls -l"}')
    assert (use.output, use.duration_ms, use.state) == ("a.txt", 1500, ToolState.DONE)


@pytest.mark.parametrize(
    ("result", "state"),
    [
        (result_event("t1", is_error=True), ToolState.FAILED),
        (result_event("t1", is_error=True, denied_by="answer"), ToolState.DENIED),
        (result_event("t1"), ToolState.DONE),
    ],
)
def test_a_call_has_the_state_of_its_result(result: v1.AgentEvent, state: ToolState) -> None:
    assert tool_of(start_event("t1"), result).state is state


def test_todos_are_shown_in_the_line_of_their_call() -> None:
    todo = v1.AgentEvent(todo_update=v1.TodoUpdate(items=[v1.TodoItem(subject="Read", status=v1.COMPLETED)]))
    (use,) = blocks_of(start_event("t1"), result_event("t1"), todo)
    assert isinstance(use, ToolCallBlock)
    assert use.progress == "1 of 1 tasks done"
    later = blocks_of(start_event("t1"), result_event("t1"), text_event("Now"), todo)
    assert [type(block) for block in later] == [ToolCallBlock, AgentText, NoticeBlock]


def test_truncated_fields_of_call_and_result_are_recorded() -> None:
    start, result = start_event("t1"), result_event("t1")
    start.cuts.add(field="tool_call_start.input_json", size_bytes=9, sha256="a")
    result.cuts.add(field="tool_call_result.output", size_bytes=8, sha256="b")
    wanted = (TruncatedField("tool_call_start.input_json", 9, "a"), TruncatedField("tool_call_result.output", 8, "b"))
    assert tool_of(start, result).cuts == wanted


def test_a_long_output_has_both_ends_and_a_reference_to_the_whole() -> None:
    output = "first\n" + "x" * 100_000 + "\nlast"
    use = tool_of(start_event("t1"), result_event("t1", output))
    assert len(use.output) < 70_000
    assert (use.output[:6], use.output[-5:]) == ("first\n", "\nlast")
    assert use.cuts == (TruncatedField("tool_call_result.output", len(output), "", 2),)


def test_a_result_without_its_call_is_alone_until_that_is_loaded() -> None:
    conversation = ConversationModel()
    call, result = numbered([start_event("t1"), result_event("t1")])
    conversation.take([result])
    use = conversation.blocks[0]
    assert isinstance(use, ToolCallBlock)
    assert (use.is_called, use.output) == (False, "done")
    conversation.prepend([call])
    assert conversation.blocks == [use]
    assert (use.is_called, use.name, use.output, use.state) == (True, "Bash", "done", ToolState.DONE)


def test_subagents_stand_below_their_calls_to_any_depth() -> None:
    outer = tool_of(
        start_event("t1"), start_event("t2", "t1"), start_event("t3", "t2"), text_event("deep", parent="t3")
    )
    inner = outer.children[0]
    assert isinstance(inner, ToolCallBlock)
    innermost = inner.children[0]
    assert isinstance(innermost, ToolCallBlock)
    assert words_of(innermost.children[0]).text == "deep"


def test_a_subagent_in_the_background_outlives_the_turn_but_not_its_agent() -> None:
    beginning = (start_event("t1"), result_event("t1"), start_event("t2", "t1"), end_event())
    below = tool_of(*beginning).children[0]
    assert isinstance(below, ToolCallBlock)
    assert below.state is ToolState.RUNNING
    crash = v1.AgentEvent(error=v1.ErrorEvent(code="SUBPROCESS_CRASHED", message="it ended"))
    below = tool_of(*beginning, crash).children[0]
    assert isinstance(below, ToolCallBlock)
    assert below.state is ToolState.BROKEN_OFF


def test_a_subagent_is_a_root_until_its_call_is_loaded() -> None:
    events = numbered([start_event("t1"), text_event("deep", parent="t1")])
    conversation = ConversationModel()
    conversation.take(events[1:])
    words = conversation.blocks[0]
    conversation.prepend(events[:1])
    use = conversation.blocks[0]
    assert isinstance(use, ToolCallBlock)
    assert use.children == [words]
    assert len(conversation.blocks) == 1


def test_a_subagent_of_a_call_that_was_broken_off_went_with_it() -> None:
    below = tool_of(start_event("t1"), start_event("t2", "t1"), end_event("cancelled")).children[0]
    assert isinstance(below, ToolCallBlock)
    assert below.shown_state is ToolState.BROKEN_OFF


# ---------------------------------------------------------------- revisions
