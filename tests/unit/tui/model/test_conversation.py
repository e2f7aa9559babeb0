"""The blocks for each kind of event."""

import pytest

from betcode.tui.model.blocks import (
    AgentText,
    AgentThinking,
    NoticeBlock,
    PromptBlock,
    PromptState,
    Tone,
    ToolCallBlock,
    ToolState,
    TurnEnd,
    UserMessage,
)
from betcode.tui.model.conversation import ConversationModel
from betcode.v1 import agent_pb2 as v1
from betcode.v1 import version_pb2
from support.screens.blocks import numbered
from support.screens.events import (
    asked_event,
    blocks_of,
    end_event,
    resolved_event,
    result_event,
    said_event,
    start_event,
    taken,
    text_event,
    words_of,
)


def test_deltas_grow_until_the_final_text_replaces_them() -> None:
    conversation = taken(text_event("Hel"), text_event("lo"))
    words = words_of(conversation.blocks[0])
    assert (words.text, words.is_settled) == ("Hello", False)
    conversation.take(numbered([text_event("Hello!", settled=True), text_event(" late")], first=3))
    assert (words.text, words.is_settled, words.is_partial) == ("Hello!", True, False)


def test_an_empty_settled_text_takes_its_deltas_back() -> None:
    assert words_of(blocks_of(text_event("No"), text_event("", settled=True))[0]).text == ""


def test_words_without_an_id_go_on_until_they_are_settled() -> None:
    blocks = blocks_of(
        text_event("a", ""), text_event("b", ""), text_event("ab", "", settled=True), text_event("next", "")
    )
    assert [words_of(block).text for block in blocks] == ["ab", "next"]


def test_thoughts_and_words_of_one_message_are_two_blocks() -> None:
    thinking = v1.AgentEvent(thinking_delta=v1.ThinkingDelta(text="hm", message_id="m1"))
    assert [type(block) for block in blocks_of(thinking, text_event("ah"))] == [AgentThinking, AgentText]


def test_a_message_has_its_state_files_and_author() -> None:
    said = said_event("m", "phone-1")
    said.user_input.attachments.append("a.png")
    conversation = taken(said, said_event("n", "me"))
    here = v1.PresentClient(client_id="phone-1", client_type="web", client_name="the phone")
    state = v1.MessageStateChange(message_id="m", state=v1.MESSAGE_STATE_CANCELLED, reason="cancelled")
    conversation.take([v1.AgentEvent(presence=v1.Presence(clients=[here]))])
    conversation.take(numbered([v1.AgentEvent(message_state=state)], first=3))
    theirs, ours = conversation.blocks
    assert isinstance(theirs, UserMessage)
    assert isinstance(ours, UserMessage)
    assert (theirs.by, theirs.attachments) == ("web the phone", ("a.png",))
    assert (theirs.state, theirs.reason) == (v1.MESSAGE_STATE_CANCELLED, "cancelled")
    assert ours.by == ""


def test_a_file_of_the_project_is_called_without_it() -> None:
    starts = []
    for number, said in enumerate(({"file_path": "/w/a.py"}, {"path": "/w2/a.py"}, {"command": "/w/run"})):
        start = v1.ToolCallStart(tool_id=f"t{number}", tool_name="Do")
        start.input.update(said)
        starts.append(v1.AgentEvent(tool_call_start=start))
    conversation = ConversationModel("me", "/w")
    conversation.take(numbered(starts))
    assert [use.input_summary for use in conversation.blocks if isinstance(use, ToolCallBlock)] == [
        "a.py",
        "/w2/a.py",
        "/w/run",
    ]


def test_earlier_messages_of_the_same_person_have_no_author() -> None:
    conversation = ConversationModel("kim@desk-0a1b2c3d")
    conversation.take(numbered([said_event("m", "kim@desk-99887766"), said_event("n", "kim@other-99887766")]))
    here = v1.PresentClient(client_id="kim@desk-99887766", client_type="tui", client_name="kim@desk, pts/2")
    conversation.take([v1.AgentEvent(presence=v1.Presence(clients=[here]))])
    signed = [block.by for block in conversation.blocks if isinstance(block, UserMessage)]
    assert signed == ["", "kim@other-99887766"]


@pytest.mark.parametrize(
    ("resolved", "state", "outcome"),
    [
        (resolved_event("r", decision=v1.ALLOW_ONCE), PromptState.ALLOWED, "Allowed"),
        (resolved_event("r", decision=v1.DENY, message="no"), PromptState.DENIED, "Denied: no"),
        (resolved_event("r", "expired"), PromptState.GONE, "The question is expired"),
        (resolved_event("r", "superseded", superseded_by="q"), PromptState.GONE, "The question is superseded"),
    ],
)
def test_a_permission_shows_its_result(resolved: v1.AgentEvent, state: PromptState, outcome: str) -> None:
    asked = blocks_of(asked_event("r"), resolved)[0]
    assert isinstance(asked, PromptBlock)
    assert (asked.title, asked.state, asked.outcome) == ("Bash", state, outcome)


def test_questions_that_were_asked_together_are_answered_together() -> None:
    asked = [
        v1.AgentEvent(user_question=v1.UserQuestion(question_id=f"g#{n}", group_id="g", question=f"{n}?"))
        for n in (1, 2)
    ]
    first, second = blocks_of(*asked, resolved_event("g", decision=v1.ALLOW_ONCE))
    for question in (first, second):
        assert isinstance(question, PromptBlock)
        assert (question.state, question.outcome) == (PromptState.ANSWERED, "Answered")


def test_each_question_of_a_group_has_its_own_answer() -> None:
    asked = [
        v1.AgentEvent(user_question=v1.UserQuestion(question_id=f"g#{n}", group_id="g", question=f"{n}?"))
        for n in (1, 2, 3)
    ]
    answers = {"1?": "SQLite", "2?": "lint, tests"}
    blocks = blocks_of(
        *asked, resolved_event("g", decision=v1.ALLOW_ONCE, message="SQLite; lint, tests", answers=answers)
    )
    outcomes = [each.outcome for each in blocks if isinstance(each, PromptBlock)]
    assert outcomes == ["Answered: SQLite", "Answered: lint, tests", "Answered: SQLite; lint, tests"]


def test_a_prompt_that_is_shown_again_to_a_new_stream_is_no_second_one() -> None:
    conversation = taken(asked_event("r"))
    conversation.take([asked_event("r"), asked_event("older")])
    assert len(conversation.blocks) == 1


def test_the_end_of_a_turn_shows_its_usage() -> None:
    usage = v1.AgentEvent(usage=v1.UsageReport(duration_ms=2000, cost_usd=0.5))
    end = blocks_of(usage, end_event())[0]
    assert isinstance(end, TurnEnd)
    assert (end.stop_reason, end.summary) == ("end_turn", "2.0 s, $0.5000")


@pytest.mark.parametrize(
    ("event", "line", "tone"),
    [
        (v1.AgentEvent(error=v1.ErrorEvent(message="it broke")), "error: it broke", Tone.BAD),
        (v1.AgentEvent(gap=v1.Gap(reason="a lost line")), "History gap: a lost line", Tone.BAD),
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
            "1 of 2 tasks done, now: Writing",
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
def test_notices_have_a_text_and_a_tone(event: v1.AgentEvent, line: str, tone: Tone) -> None:
    told = blocks_of(event)[0]
    assert isinstance(told, NoticeBlock)
    assert (told.lines, told.tone) == ((line,), tone)


def test_a_deprecation_is_shown_once_across_streams() -> None:
    warning = version_pb2.DeprecationWarning(feature="x", severity=version_pb2.WARNING, removal_version="2")
    conversation = taken(said_event())
    conversation.take([v1.AgentEvent(deprecation=warning)])
    conversation.take([v1.AgentEvent(deprecation=warning)])
    assert [type(block) for block in conversation.blocks] == [UserMessage, NoticeBlock]


def test_how_things_stand_is_no_part_of_the_conversation() -> None:
    assert (
        blocks_of(
            v1.AgentEvent(status_change=v1.StatusChange(status=v1.IDLE)),
            v1.AgentEvent(session_info=v1.SessionInfo(model="m")),
            v1.AgentEvent(input_lock=v1.InputLockChange()),
            v1.AgentEvent(),
        )
        == []
    )


def test_when_the_session_has_ended_nothing_is_at_work_any_more() -> None:
    conversation = taken(start_event("t1"))
    conversation.end()
    use = conversation.blocks[0]
    assert isinstance(use, ToolCallBlock)
    assert use.state is ToolState.BROKEN_OFF


def _revisions(conversation: ConversationModel) -> dict[str, int]:
    left = list(conversation.blocks)
    found: dict[str, int] = {}
    while left:
        block = left.pop()
        found[block.key] = block.revision
        left += block.children if isinstance(block, ToolCallBlock) else []
    return found


def _changed_by(conversation: ConversationModel, *events: v1.AgentEvent) -> set[str]:
    before = _revisions(conversation)
    conversation.take(numbered(events, first=conversation.newest + 1))
    after = _revisions(conversation)
    return {key for key, revision in after.items() if before.get(key) != revision}


def test_only_changed_blocks_and_their_parents_are_drawn_again() -> None:
    conversation = taken(
        said_event(),
        text_event("Hi"),
        start_event("t1"),
        start_event("t2", "t1"),
        text_event("deep", "m2", parent="t2"),
        start_event("t4"),
        asked_event("r"),
    )
    assert _changed_by(conversation, text_event("!")) == {"text-m1-0"}
    assert _changed_by(conversation, text_event("er", "m2", parent="t2")) == {"text-m2-0", "tool-t2", "tool-t1"}
    assert _changed_by(conversation, start_event("t3", "t1")) == {"tool-t3", "tool-t1"}
    assert _changed_by(conversation, result_event("t4")) == {"tool-t4"}
    assert _changed_by(conversation, resolved_event("r", decision=v1.DENY)) == {"ask-r"}
    assert _changed_by(conversation, v1.AgentEvent(status_change=v1.StatusChange())) == set()
    assert _changed_by(conversation, end_event()) == {"text-m1-0", "tool-t1", "end-14"}


def test_an_older_page_changes_only_blocks_that_continue_it() -> None:
    usage = v1.AgentEvent(usage=v1.UsageReport(duration_ms=2000))
    events = numbered(
        [
            text_event("Hel"),
            start_event("t1"),
            usage,
            text_event("lo"),
            text_event("other", "m2"),
            result_event("t1"),
            end_event(),
        ]
    )
    conversation = ConversationModel()
    conversation.take(events[3:])
    before = _revisions(conversation)
    conversation.prepend(events[:3])
    after = _revisions(conversation)
    assert {key for key in before if before[key] != after[key]} == {"text-m1-0", "tool-t1", "end-7"}


def test_the_first_message_is_known_when_the_beginning_is_loaded() -> None:
    conversation = taken(v1.AgentEvent(notice=v1.Notice(message="begins")), said_event("a"))
    assert conversation.opening == "Go"
    conversation.has_older = True
    assert conversation.opening == ""
