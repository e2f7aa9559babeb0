"""What the recordings do not have: refusals, broken and endless lines, requests of later versions, other threads."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from betcode.domain.agents.commands import AnswerPermission, Behaviour, Interrupt
from betcode.domain.runs.journal_record import Record, RecordKind
from betcode.domain.store.rows import NewSession
from betcode.providers.codex.commands import line as encode
from betcode.providers.codex.dialogue import NEWS, CodexDialogue
from betcode.providers.codex.state import State, load
from betcode.v1 import agent_pb2 as v1
from support.recordings.claude import record
from support.recordings.codex import PROVIDER, SESSION

THREAD = "01a1dd0c-9291-7502-80b8-0692b58e818f"
GREETED: dict[str, Any] = {"id": "betcode-thread", "result": {"thread": {"id": THREAD}, "model": "gpt", "cwd": "/w"}}
_WORDS = (
    "item",
    "turn",
    "id",
    "type",
    "status",
    "delta",
    "itemId",
    "threadId",
    "turnId",
    "error",
    "message",
    "questions",
)
START = {"id": "betcode-thread", "method": "thread/start", "params": {"approvalPolicy": "untrusted"}}


def _new(*lines: dict[str, Any]) -> CodexDialogue:
    """A dialogue that has a thread, a message and a turn of it, and then these lines."""
    dialogue = CodexDialogue(SESSION, State())
    dialogue.receive(record(START, RecordKind.IN))
    dialogue.receive(record(GREETED))
    dialogue.receive(record({"id": "m-1", "method": "turn/start", "params": {}}, RecordKind.IN))
    dialogue.receive(record({"id": "m-1", "result": {"turn": {"id": "u-1"}}}))
    for line in lines:
        dialogue.receive(record(line))
    return dialogue


def _news(method: str, **params: Any) -> dict[str, Any]:
    return {"method": method, "params": {"threadId": THREAD, "turnId": "u-1", **params}}


def _kinds(events: list[v1.AgentEvent]) -> list[str]:
    return [event.WhichOneof("event") or "" for event in events]


def test_a_codex_that_does_not_know_how_to_ask_always_is_asked_in_parts() -> None:
    dialogue = CodexDialogue(SESSION, State())
    dialogue.receive(record(START, RecordKind.IN))
    refused = {"id": "betcode-thread", "error": {"code": -32600, "message": "unknown variant `untrusted`"}}
    assert _kinds(dialogue.receive(record(refused))) == ["notice"]
    (errand,) = dialogue.view.errands
    said = json.loads(errand.line)
    assert said["method"] == "thread/start"
    assert said["params"]["approvalPolicy"]["granular"]["sandbox_approval"] is True
    assert said["params"]["sandbox"] == "read-only"
    assert dialogue.view.failure is None
    assert dialogue.addressed(errand.line) == errand.line
    dialogue.receive(record(errand.line, RecordKind.IN))
    assert dialogue.view.errands == ()
    dialogue.receive(record({**GREETED, "id": said["id"]}))
    assert dialogue.view.is_ready


@pytest.mark.parametrize(
    ("method", "message", "has_conversation", "words"),
    [
        ("thread/resume", "no rollout found for thread id 01a1", False, "no longer has this conversation"),
        ("thread/fork", "no rollout found for thread id 01a1", None, "source session of this fork"),
        ("thread/resume", "thread 01a1 already has an active writer", None, "another Codex"),
        ("thread/start", "the sky fell", None, "could not start"),
    ],
)
def test_without_a_thread_there_is_a_failure_with_advice(
    method: str, message: str, has_conversation: bool | None, words: str
) -> None:
    dialogue = CodexDialogue(SESSION, State(conversation_id=THREAD, began=True))
    dialogue.receive(record({**START, "method": method}, RecordKind.IN))
    dialogue.receive(record({"id": "betcode-thread", "error": {"code": -32600, "message": message}}))
    assert not dialogue.view.is_ready
    assert dialogue.view.failure is not None
    assert (dialogue.view.failure.has_conversation, dialogue.view.failure.did_nothing) == (has_conversation, True)
    assert words in dialogue.view.failure.advice


def test_a_request_of_a_later_version_is_refused_and_the_refusal_is_said_once() -> None:
    dialogue = _new({"id": 0, "method": "item/holograms/request", "params": {}})
    (errand,) = dialogue.view.errands
    assert json.loads(errand.line)["id"] == 0
    assert "error" in json.loads(errand.line)
    assert encode(errand) == dialogue.addressed(errand.line) == errand.line
    dialogue.receive(record(errand.line, RecordKind.IN))
    assert dialogue.view.errands == ()


def test_a_form_of_a_tool_server_is_declined_so_that_the_turn_goes_on() -> None:
    dialogue = _new({"id": 4, "method": "mcpServer/elicitation/request", "params": {"message": "Name?"}})
    assert [json.loads(errand.line) for errand in dialogue.view.errands] == [{"id": 4, "result": {"action": "decline"}}]


def _mcp_call(item_id: str, tool: str) -> dict[str, Any]:
    item = {"type": "mcpToolCall", "id": item_id, "server": "db", "tool": tool, "arguments": {"sql": "1"}}
    return _news("item/started", item={**item, "status": "inProgress"})


def _form(message: str) -> dict[str, Any]:
    meta = {"codex_approval_kind": "mcp_tool_call", "tool_params": {"sql": "1"}}
    params = {"threadId": THREAD, "serverName": "db", "mode": "form", "_meta": meta, "message": message}
    return {"id": 4, "method": "mcpServer/elicitation/request", "params": params}


def test_a_tool_of_a_server_is_asked_about_by_its_name_and_answered_as_a_form() -> None:
    dialogue = _new(_mcp_call("c-1", "drop"), _mcp_call("c-2", "query"))
    asked = 'Allow the db MCP server to run tool "query"?'
    request = dialogue.receive(record(_form(asked)))[0].permission_request
    assert (request.tool_name, request.tool_use_id, request.description) == ("mcp__db__query", "c-2", asked)
    assert json.loads(request.input_json) == {"sql": "1"}
    for behaviour, result in (
        (Behaviour.ALLOW, {"action": "accept", "content": {}}),
        (Behaviour.DENY, {"action": "decline"}),
    ):
        line = dialogue.addressed(encode(AnswerPermission(request.request_id, behaviour, "{}")))
        assert json.loads(line) == {"id": 4, "result": result}


def test_a_tool_that_is_not_named_clearly_is_asked_about_as_its_server() -> None:
    dialogue = _new(_mcp_call("c-1", "drop"), _mcp_call("c-2", "query"))
    events = dialogue.receive(record(_form("May it?")))
    request = next(event.permission_request for event in events if event.HasField("permission_request"))
    assert request.tool_name == "mcp__db"


def test_an_approval_that_cannot_be_read_is_refused() -> None:
    dialogue = _new()
    asked = {"id": 1, "method": "item/commandExecution/requestApproval", "params": [1]}
    assert _kinds(dialogue.receive(record(asked))) == ["notice"]
    assert [errand.errand_id for errand in dialogue.view.errands] == ["answer-1"]


def test_prompts_of_two_processes_have_ids_of_their_own() -> None:
    asked = {
        "id": 0,
        "method": "item/commandExecution/requestApproval",
        "params": {"itemId": "c-1", "command": "/bin/bash -lc 'ls | wc'", "cwd": "/w"},
    }
    ids = []
    for at_ms in (1, 2):
        events = _new().receive(record(asked, at_ms=at_ms))
        request = next(event.permission_request for event in events if event.HasField("permission_request"))
        assert json.loads(request.input_json) == {"command": "ls | wc", "cwd": "/w"}
        ids.append(request.request_id)
    assert len(set(ids)) == 2


def test_a_patch_that_nobody_saw_is_asked_about_without_naming_a_file() -> None:
    asked = {"id": 0, "method": "item/fileChange/requestApproval", "params": {"itemId": "c-1"}}
    events = _new().receive(record(asked))
    request = next(event.permission_request for event in events if event.HasField("permission_request"))
    assert (request.tool_name, json.loads(request.input_json)) == ("Edit", {"changes": []})


def test_a_huge_patch_is_shown_whole_and_kept_by_its_paths() -> None:
    change = {"path": "/w/big.txt", "kind": {"type": "add"}, "diff": "x" * 1_000_000}
    item = {"type": "fileChange", "id": "c-1", "status": "inProgress", "changes": [change]}
    dialogue = _new(_news("item/started", item=item))
    assert len(dialogue.state()) < 4096
    asked = {"id": 0, "method": "item/fileChange/requestApproval", "params": {"itemId": "c-1"}}
    request = dialogue.receive(record(asked))[0].permission_request
    assert json.loads(request.input_json)["file_path"] == "/w/big.txt"


def test_a_command_that_runs_on_behind_its_turn_keeps_the_agent() -> None:
    item = {"type": "commandExecution", "id": "c-1", "command": "/bin/sh -c 'npm start'", "cwd": "/w"}
    dialogue = _new(_news("item/started", item={**item, "status": "inProgress"}))
    events = dialogue.receive(record(_news("turn/completed", turn={"id": "u-1", "status": "completed"})))
    result = next(event.tool_call_result for event in events if event.HasField("tool_call_result"))
    assert not result.is_error
    assert list(dialogue.view.holds) == ["background command: npm start"]
    assert dialogue.receive(record(_news("item/completed", item={**item, "status": "completed"}))) == []
    assert not dialogue.view.holds


def test_lines_of_other_threads_end_nothing_here() -> None:
    dialogue = _new()
    other = {"method": "turn/completed", "params": {"threadId": "other", "turn": {"id": "u-9", "status": "completed"}}}
    assert dialogue.receive(record(other)) == []
    assert dialogue.view.turn_open


def test_what_comes_late_of_a_turn_begins_no_other() -> None:
    ended = _news("turn/completed", turn={"id": "u-1", "status": "interrupted"})
    dialogue = _new(ended)
    item = {"type": "commandExecution", "id": "c-9", "command": "ls", "status": "inProgress"}
    late = (
        ended,
        _news("item/started", item=item),
        _news("item/agentMessage/delta", itemId="i", delta="x"),
        _news("item/completed", item={**item, "status": "failed"}),
        _news("error", error={"message": "too late"}, willRetry=False),
    )
    assert [event for line in late for event in dialogue.receive(record(line))] == []
    assert not dialogue.view.turn_open


def test_the_end_of_a_turn_that_cannot_be_read_ends_it() -> None:
    dialogue = _new()
    events = dialogue.receive(record({"method": "turn/completed", "params": {"turn": 3}}))
    assert _kinds(events)[-2:] == ["turn_complete", "status_change"]
    assert not dialogue.view.turn_open


def test_broken_lines_are_told_once_and_counted() -> None:
    dialogue = _new()
    told = [dialogue.receive(record(line)) for line in ("{", "}{", "not json")]
    assert [len(events) for events in told] == [1, 0, 0]
    events = dialogue.receive(record(_news("item/agentMessage/delta", itemId="i", delta="x")))
    assert "2 more lines" in events[0].notice.message


@pytest.mark.parametrize(
    ("beginning", "then"),
    [
        (b'{"method":"item/fileChange/requestApproval","id":5,"params":{', "errand"),
        (
            b'{"method":"item/completed","params":{"item":{"type":"commandExecution","id":"c-1","x":"',
            "tool_call_result",
        ),
        (b'{"method":"turn/completed","params":{"threadId":"', "turn_complete"),
    ],
)
def test_an_endless_line_leaves_nothing_waiting(beginning: bytes, then: str) -> None:
    item = {"type": "commandExecution", "id": "c-1", "command": "ls", "status": "inProgress"}
    dialogue = _new(_news("item/started", item=item))
    line = Record(RecordKind.OUT, 0, 1, 1, beginning + b"x" * 50, 0, 90_000_000, too_long=True)
    kinds = _kinds(dialogue.receive(line))
    assert kinds[0] == "notice"
    assert then in kinds or [each.errand_id for each in dialogue.view.errands] == ["answer-5"]


def test_a_plan_of_steps_becomes_todos_once() -> None:
    dialogue = _new()
    steps = [{"step": "look", "status": "completed"}, {"step": "edit", "status": "inProgress"}]
    update = dialogue.receive(record(_news("turn/plan/updated", plan=steps)))[0].todo_update
    assert [(item.subject, item.status) for item in update.items] == [("look", v1.COMPLETED), ("edit", v1.IN_PROGRESS)]
    assert dialogue.receive(record(_news("turn/plan/updated", plan=steps))) == []


def test_a_search_and_a_tool_of_a_server_are_shown_as_tools() -> None:
    search = {"type": "webSearch", "id": "s-1", "query": "cats"}
    mcp = {"type": "mcpToolCall", "id": "s-2", "server": "db", "tool": "query", "arguments": {"sql": "1"}}
    done = {**mcp, "status": "completed", "result": {"content": [{"type": "text", "text": "one row"}]}}
    dialogue = _new()
    events = [
        event
        for line in (
            _news("item/started", item=search),
            _news("item/completed", item=search),
            _news("item/started", item={**mcp, "status": "inProgress"}),
            _news("item/completed", item=done),
        )
        for event in dialogue.receive(record(line))
    ]
    starts = [event.tool_call_start.tool_name for event in events if event.HasField("tool_call_start")]
    results = [event.tool_call_result.output for event in events if event.HasField("tool_call_result")]
    assert (starts, results) == (["WebSearch", "mcp__db__query"], ["", "one row"])


def test_a_state_that_cannot_be_read_is_taken_up_at_the_next_turn() -> None:
    dialogue = PROVIDER.dialogue(SESSION, THREAD, b"what?", version=99)
    assert dialogue.receive(record(_news("item/agentMessage/delta", itemId="i", delta="x"))) == []
    dialogue.receive(record(_news("turn/started", turn={"id": "u-1", "status": "inProgress"})))
    assert dialogue.view.turn_open
    assert PROVIDER.carry_over(b"what?", 99) == b""


def test_plan_mode_of_a_new_session_is_known_before_its_first_turn() -> None:
    session = NewSession(SESSION.session_id, "codex", "/w", plan_mode=True)
    dialogue = CodexDialogue(session, State())
    dialogue.receive(record(START, RecordKind.IN))
    assert dialogue.view.plan_mode


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 2**40) | st.text(max_size=5) | st.sampled_from([THREAD, "u-1", "c-1"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(_WORDS), inner, max_size=5),
    max_leaves=12,
)


@given(
    lines=st.lists(
        st.fixed_dictionaries(
            {"method": st.sampled_from([*NEWS, "item/fileChange/requestApproval", "item/tool/requestUserInput"])},
            optional={"id": st.integers(0, 3) | st.text(max_size=3), "params": _VALUES, "result": _VALUES},
        ),
        max_size=12,
    )
)
def test_whatever_codex_says_can_be_taken_in_and_stored(lines: list[dict[str, Any]]) -> None:
    dialogue = _new()
    for line in lines:
        events = dialogue.receive(record(line))
        assert [event for event in events if "could not be translated" in event.notice.message] == []
        load(dialogue.state(), PROVIDER.dialogue_version)
    dialogue.receive(record(_news("turn/completed", turn={"id": "u-1", "status": "completed"})))
    assert dialogue.addressed(encode(Interrupt("i-1"))) is not None


@pytest.mark.parametrize(
    "line",
    [
        _news("thread/tokenUsage/updated", tokenUsage={"total": {"inputTokens": 10**30}, "modelContextWindow": 10**30}),
        _news("thread/tokenUsage/updated", tokenUsage={"last": {"inputTokens": -(10**30)}}),
        _news("item/reasoning/summaryTextDelta", itemId="a", delta="x", summaryIndex=10**30),
        _news("item/completed", item={"type": "commandExecution", "id": "c", "exitCode": 10**30}),
        {"id": 10**30, "method": "item/commandExecution/requestApproval", "params": {"itemId": "c", "command": "ls"}},
    ],
)
def test_numbers_that_nobody_can_store_harm_nothing(line: dict[str, Any]) -> None:
    dialogue = _new(line, line)
    assert load(dialogue.state(), 1).turn
    assert "turn_complete" in _kinds(dialogue.receive(record(_news("turn/completed", turn={"id": "u-1"}))))


@pytest.mark.parametrize("error", [{}, {"message": None}, "no", {"code": "x", "message": 5}])
def test_a_refused_message_ends_its_turn_however_that_is_said(error: object) -> None:
    dialogue = _new()
    dialogue.receive(record(_news("turn/completed", turn={"id": "u-1", "status": "completed"})))
    dialogue.receive(record({"id": "m-2", "method": "turn/start", "params": {}}, RecordKind.IN))
    events = dialogue.receive(record({"id": "m-2", "error": error}))
    assert events[0].error.message == "Codex refused the message"
    assert not dialogue.view.turn_open


def test_an_end_that_does_not_say_of_which_turn_is_that_of_the_open_one() -> None:
    dialogue = _new()
    dialogue.receive(record(_news("turn/completed", turn={})))
    assert not dialogue.view.turn_open


def test_a_patch_of_something_that_is_none_is_asked_about_as_one() -> None:
    command = {"type": "commandExecution", "id": "c-1", "command": "ls"}
    dialogue = _new(_news("item/started", item=command))
    approval = {"id": 3, "method": "item/fileChange/requestApproval", "params": {"itemId": "c-1", "turnId": "u-1"}}
    request = dialogue.receive(record(approval))[0].permission_request
    assert (request.tool_name, request.input_json) == ("Edit", '{"changes": []}')


def test_a_thread_that_is_said_twice_is_the_first() -> None:
    dialogue = _new({"id": "betcode-thread", "result": {"thread": {"id": "another"}}})
    dialogue.receive(record({"id": "betcode-thread", "error": {"message": "no"}}))
    assert (dialogue.view.conversation_id, dialogue.view.failure) == (THREAD, None)
    dialogue.receive(record(_news("turn/completed", turn={"id": "u-1", "status": "completed"})))
    assert not dialogue.view.turn_open


def test_an_item_of_another_turn_does_not_take_the_place_of_the_open_one() -> None:
    dialogue = _new(_news("item/agentMessage/delta", turnId="u-0", itemId="a", delta="late"))
    events = dialogue.receive(record(_news("turn/completed", turn={"id": "u-1", "status": "completed"})))
    assert "turn_complete" in _kinds(events)
    assert not dialogue.view.turn_open
