"""What agents say out of order, twice, too late or not at all: tools end, turns end once, and nobody waits for ever."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from betcode.domain.agents.agent_state import PauseKind
from betcode.domain.agents.commands import AnswerPermission, AttachedFile, Behaviour, Interrupt, SendMessage
from betcode.domain.runs.journal_record import RecordKind
from betcode.domain.values.identifiers import MessageId
from betcode.providers.acp.commands import line as encode
from betcode.v1 import agent_pb2 as v1
from support.daemon.session import kinds
from support.recordings.acp import PROVIDER
from support.recordings.acp_dialogue import NATIVE, Spoken, begun
from support.recordings.claude import SESSION


def test_a_tool_starts_when_its_input_is_there() -> None:
    spoken = begun()
    assert (
        spoken.updates("tool_call", toolCallId="t", title="bash", kind="execute", status="pending", rawInput={}) == []
    )
    events = spoken.updates("tool_call_update", toolCallId="t", rawInput={"command": "ls", "cwd": "/x"})
    assert kinds(events) == ["tool_call_start", "status_change"]
    assert spoken.dialogue.directory_of("t") == "/x"
    assert spoken.dialogue.view.running_tools == ("Bash",)


def test_tools_that_are_open_end_with_their_turn() -> None:
    spoken = begun()
    spoken.updates("tool_call", toolCallId="a", title="x", kind="other", status="in_progress")
    spoken.updates("tool_call", toolCallId="b", title="y", kind="other", status="pending")
    events = spoken.answers()
    results = [event.tool_call_result for event in events if event.HasField("tool_call_result")]
    assert [(each.tool_id, each.output, each.is_error) for each in results] == [
        ("a", "interrupted", True),
        ("b", "interrupted", True),
    ]
    assert spoken.updates("tool_call_update", toolCallId="a", status="failed") == []  # too late


def test_a_command_that_failed_is_an_error_though_the_agent_calls_it_completed() -> None:
    spoken = begun()
    output = {"output": "no", "metadata": {"exit": 3}}
    spoken.updates("tool_call", toolCallId="t", kind="execute", status="in_progress", rawInput={"command": "false"})
    *_, result, _ = spoken.updates("tool_call_update", toolCallId="t", status="completed", rawOutput=output)
    assert (result.tool_call_result.is_error, result.tool_call_result.output) == (True, "no")


def test_a_request_without_a_tool_before_it_shows_the_tool() -> None:
    spoken = begun()
    events = spoken.asks(title="ls", kind="execute", rawInput={"command": "ls"})
    assert kinds(events) == ["tool_call_start", "status_change", "permission_request", "status_change"]
    [request_id] = spoken.dialogue.view.open_requests
    spoken.told(AnswerPermission(request_id, Behaviour.ALLOW, '{"command": "ls"}'))
    assert spoken.dialogue.view.open_requests == ()
    assert spoken.dialogue.addressed(encode(AnswerPermission(request_id, Behaviour.ALLOW, "{}"))) == b""


@pytest.mark.parametrize("number", [0, 7, "seven", "7"])
def test_an_answer_goes_back_under_the_agents_own_id(number: object) -> None:
    spoken = begun()
    spoken.asks(number, title="ls", kind="execute")
    [request_id] = spoken.dialogue.view.open_requests
    answer = AnswerPermission(request_id, Behaviour.DENY, "{}", message="not now")
    said = json.loads(spoken.dialogue.addressed(encode(answer)))
    assert said["id"] == number
    assert said["result"]["outcome"] == {"outcome": "selected", "optionId": "n"}
    assert said["result"]["_meta"]["betcode"]["message"] == "not now"


def test_the_same_number_in_two_sessions_is_two_requests() -> None:
    first, second = begun(), Spoken()
    second.writes(b'{"noise": 1}')
    second.greeted()
    second.opened()
    second.prompt()
    for spoken in (first, second):
        spoken.asks(0, title="ls", kind="execute")
    assert first.dialogue.view.open_requests != second.dialogue.view.open_requests


def test_a_denial_that_ends_the_turn_cancels_it() -> None:
    spoken = begun()
    spoken.asks(title="ls", kind="execute")
    [request_id] = spoken.dialogue.view.open_requests
    spoken.told(AnswerPermission(request_id, Behaviour.DENY, "{}", interrupt=True))
    said = spoken.errand()
    assert (said["method"], said["params"]) == ("session/cancel", {"sessionId": NATIVE})
    assert spoken.dialogue.view.errands == ()
    assert spoken.answers(stopReason="end_turn")[-2].turn_complete.stop_reason == "cancelled"


def test_a_turn_that_an_agent_gives_up_after_a_denial_was_not_cancelled() -> None:
    spoken = begun()
    spoken.asks(title="ls", kind="execute")
    [request_id] = spoken.dialogue.view.open_requests
    spoken.told(AnswerPermission(request_id, Behaviour.DENY, "{}"))
    assert spoken.answers(stopReason="cancelled")[-2].turn_complete.stop_reason == "end_turn"


def test_what_is_asked_after_a_cancel_is_cancelled_too() -> None:
    spoken = begun()
    spoken.told(Interrupt("i"))
    assert spoken.asks(3, title="ls", kind="execute") == []
    assert spoken.errand() == {"jsonrpc": "2.0", "id": 3, "result": {"outcome": {"outcome": "cancelled"}}}
    events = spoken.says(id="m-1", error={"code": -32603, "message": "aborted"})
    assert "error" not in kinds(events)
    assert events[-2].turn_complete.stop_reason == "cancelled"


def test_words_behind_a_turn_are_shown_and_open_nothing() -> None:
    spoken = begun()
    spoken.answers()
    events = spoken.chunk("by the way")
    assert [event.text_delta.is_complete for event in events] == [False, True]
    assert not spoken.dialogue.view.turn_open


def test_a_prompt_that_crosses_a_turn_of_the_agents_own_waits() -> None:
    spoken = begun()
    spoken.answers()
    turn = {"method": "_betcode/turn"}
    spoken.says(**turn, params={"sessionId": NATIVE, "state": "started"})
    assert kinds(spoken.prompt("m-2")) == ["message_state"]
    events = spoken.says(**turn, params={"sessionId": NATIVE, "state": "ended", "stopReason": "end_turn"})
    [ended] = [event.turn_complete for event in events if event.HasField("turn_complete")]
    assert (ended.origin, list(ended.message_ids)) == ("agent", [])
    assert events[-1].status_change.status == v1.THINKING
    assert list(spoken.answers("m-2")[-2].turn_complete.message_ids) == ["m-2"]
    assert not spoken.dialogue.view.turn_open


def test_an_own_turn_that_failed_says_why() -> None:
    spoken = begun()
    spoken.answers()
    spoken.says(method="_betcode/turn", params={"sessionId": NATIVE, "state": "started"})
    trouble = {"kind": "rate_limit", "message": "too many", "advice": "wait", "retryAtMs": 1_800_000_000_000}
    ended = {"sessionId": NATIVE, "state": "ended", "stopReason": "error", "error": trouble}
    events = spoken.says(method="_betcode/turn", params=ended)
    [error] = [event.error for event in events if event.HasField("error")]
    assert (error.code, error.details["advice"]) == ("RATE_LIMITED", "wait")
    assert error.details["reset_at"].startswith("2027-")


def test_a_pause_of_the_api_lasts_until_the_agent_speaks() -> None:
    spoken = begun()
    spoken.says(method="_betcode/pause", params={"sessionId": NATIVE, "kind": "limit", "untilMs": 5})
    pause = spoken.dialogue.view.api_pause
    assert pause is not None
    assert (pause.kind, pause.until_ns) == (PauseKind.LIMIT, 5_000_000)
    spoken.chunk("here again")
    assert spoken.dialogue.view.api_pause is None


def test_long_text_goes_on_in_another_block() -> None:
    spoken = begun()
    settled = [event for _ in range(6) for event in spoken.chunk("x" * 8000 + "\n") if event.text_delta.is_complete]
    assert [event.text_delta.block for event in settled] == [0]
    assert len(spoken.dialogue.state()) < 64 * 1024
    assert [event.text_delta.block for event in spoken.answers() if event.text_delta.is_complete] == [1]


def test_what_a_crashed_agent_was_saying_and_doing_stays_a_part() -> None:
    spoken = begun()
    spoken.updates("tool_call", toolCallId="t", kind="execute", status="in_progress", rawInput={"command": "ls"})
    spoken.chunk("half of")
    said, result = spoken.dialogue.voided(5)  # the next message is another one, so that nobody says it anew
    assert (said.text_delta.text, said.text_delta.is_partial) == ("half of", True)
    assert (result.tool_call_result.tool_id, result.tool_call_result.is_error) == ("t", True)


def test_a_conversation_begins_with_the_agents_first_word() -> None:
    spoken = begun()
    assert not spoken.dialogue.view.conversation_began
    spoken.chunk("x")
    assert spoken.dialogue.view.conversation_began
    assert spoken.dialogue.view.has_spoken


def test_a_state_that_cannot_be_read_is_taken_up_at_the_next_turn() -> None:
    dialogue = PROVIDER.dialogue(SESSION, NATIVE, b"what?", version=99)
    assert dialogue.view.is_ready
    spoken = Spoken()
    spoken.dialogue = dialogue
    assert spoken.chunk("the end of something") == []
    events = spoken.answers("m-0")
    assert kinds(events) == ["notice", "turn_complete", "status_change"]
    spoken.prompt("m-1")
    assert kinds(spoken.chunk("anew")) == ["text_delta"]


def test_files_go_as_the_agent_takes_them() -> None:
    message = SendMessage(
        MessageId("m"),
        "Look",
        (AttachedFile("a.png", "image/png", b"\x89"), AttachedFile("n.txt", "text/plain", b"text")),
    )
    fresh = Spoken()
    line = encode(message)  # before anybody knows what it takes
    fresh.greeted()
    fresh.opened()
    prompt = json.loads(fresh.dialogue.addressed(line))["params"]["prompt"]
    assert [block["type"] for block in prompt] == ["text", "text", "text"]
    assert "text\n</file>" in prompt[-1]["text"]
    events = fresh.writes(fresh.dialogue.addressed(line), RecordKind.IN)
    assert "an image" in events[-1].notice.message


def test_a_request_that_is_too_long_to_be_read_is_refused() -> None:
    spoken = begun()
    spoken.reads_cut(b'{"jsonrpc":"2.0","id":4,"method":"session/request_permission","params":{"x":"')
    [errand] = spoken.dialogue.view.errands
    assert json.loads(errand.line)["id"] == 4


def test_an_answer_that_is_too_long_ends_its_turn() -> None:
    events = begun().reads_cut(b'{"jsonrpc":"2.0","id":"m-1","result":{"stopReason":"')
    assert [event.turn_complete.stop_reason for event in events if event.HasField("turn_complete")] == ["error"]


_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
_FIELDS = (
    "content", "messageId", "toolCallId", "title", "kind", "status", "rawInput", "rawOutput", "locations", "entries",
    "used", "size", "cost", "availableCommands", "currentModeId", "configOptions", "_meta", "name",
)  # fmt: skip
_KINDS = (
    "agent_message_chunk", "agent_thought_chunk", "tool_call", "tool_call_update", "plan", "usage_update",
    "available_commands_update", "current_mode_update", "config_option_update", "something_new",
)  # fmt: skip


@given(st.sampled_from(_KINDS), st.dictionaries(st.sampled_from(_FIELDS), _values, max_size=6))
def test_whatever_an_update_holds_the_turn_goes_on_and_ends(kind: str, fields: dict[str, object]) -> None:
    spoken = begun()
    assert not [event for event in spoken.updates(kind, **fields) if event.HasField("notice")]
    assert spoken.dialogue.view.turn_open
    ends = [event for event in spoken.answers() if event.HasField("turn_complete")]
    assert len(ends) == 1
    assert not spoken.dialogue.view.turn_open


@given(_values, _values, _values)
def test_whatever_an_answer_holds_its_turn_ends(result: object, usage: object, meta: object) -> None:
    for said in (result, {"stopReason": "end_turn", "usage": usage, "_meta": meta}):
        spoken = begun()
        events = spoken.says(id="m-1", result=said)
        assert "notice" not in kinds(events)
        assert len([event for event in events if event.HasField("turn_complete")]) == 1


@given(st.binary(max_size=60))
def test_no_line_is_too_strange(line: bytes) -> None:
    spoken = begun()
    spoken.writes(line)
    spoken.writes(line, RecordKind.IN)
    spoken.writes(line, RecordKind.ERR)
    assert spoken.dialogue.view.turn_open


_BEYOND = 10**30


@pytest.mark.parametrize(
    "news",
    [
        {"method": "session/update", "params": {"update": {"sessionUpdate": "usage_update", "used": _BEYOND}}},
        {"method": "session/update", "params": {"update": {"sessionUpdate": "usage_update", "size": -_BEYOND}}},
        {"method": "_betcode/usage", "params": {"inputTokens": 2**53, "contextTokens": _BEYOND}},
        {"method": "_betcode/pause", "params": {"kind": "limit", "untilMs": 2**53}},
    ],
)
def test_numbers_that_nobody_can_store_harm_nothing(news: dict[str, object]) -> None:
    spoken = begun()
    spoken.says(**news)
    spoken.says(**news)
    assert "turn_complete" in kinds(spoken.answers())


def test_an_exit_code_that_nobody_can_store_is_an_error() -> None:
    spoken = begun()
    spoken.updates("tool_call", toolCallId="t", kind="execute", status="in_progress", rawOutput={"exitCode": _BEYOND})
    assert spoken.updates("tool_call_update", toolCallId="t", status="completed")[0].tool_call_result.is_error


@pytest.mark.parametrize("written", ['"\u00e9/<"', '"\\u00e9\\/\\u003c"', '"\\u00E9/<"'])
def test_an_answer_is_known_however_its_id_is_written(written: str) -> None:
    spoken = begun()
    spoken.answers()
    spoken.prompt("\u00e9/<")
    spoken.writes(f'{{"jsonrpc":"2.0","id":{written},"result":{{"stopReason":"end_turn"}}}}'.encode())
    assert not spoken.dialogue.view.turn_open


def test_a_command_under_the_name_of_a_reader_is_asked_about_as_a_command() -> None:
    spoken = begun()
    use = {"title": "Read a.txt", "kind": "execute", "rawInput": {"command": "rm b"}}
    events = spoken.asks(**use, _meta={"betcode": {"toolName": "Read"}})
    [request] = [event.permission_request for event in events if event.HasField("permission_request")]
    assert (request.tool_name, json.loads(request.input_json)) == ("Bash", {"command": "rm b"})


def test_what_is_said_of_another_session_is_passed_over() -> None:
    spoken = begun()
    update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "not here"}}
    assert spoken.says(method="session/update", params={"sessionId": "ses_2", "update": update}) == []
    update = {"sessionUpdate": "tool_call", "toolCallId": "t", "kind": "execute", "status": "in_progress"}
    assert spoken.says(method="session/update", params={"sessionId": "ses_2", "update": update}) == []
    assert kinds(spoken.chunk("here")) == ["text_delta"]


def test_an_agent_that_asks_without_end_fills_nothing() -> None:
    spoken = begun()
    for number in range(600):
        spoken.says(id=number, method="fs/read_text_file", params={"sessionId": NATIVE, "path": "/x"})
    assert len(spoken.dialogue.view.errands) == 512
    spoken.errand()
    spoken.says(id=600, method="fs/read_text_file", params={"sessionId": NATIVE, "path": "/x"})
    assert json.loads(spoken.dialogue.view.errands[-1].line)["id"] == 600
