"""The output of obey for people and scripts: lines that fit, short ids, escaped text."""

from datetime import UTC, datetime

import pytest

from betcode.cli.obey.prompt_lines import is_prompt, prompt_lines
from betcode.cli.obey.records import activity_json, session_json, versioned
from betcode.cli.obey.session_lines import activity_lines, change_line, info_lines, list_lines, short_ids
from betcode.wording.terminal_text import columns
from obey.local.v1 import local_pb2 as v1

NOW = datetime(2026, 1, 5, 21, 30, tzinfo=UTC)
ONE = v1.SessionInfo(
    id="sess_01JMXYZ0000000000000000001",
    campaign_id="camp_ethdenver2026",
    provider=v1.SESSION_PROVIDER_CLAUDE_CODE,
    model="opus",
    agent_name="coordinator",
    status=v1.SESSION_STATUS_RUNNING,
    festival_id="hedera-foundation-HF0001",
    working_dir="/home/me/campaigns/ethdenver2026",
)
ONE.created_at.FromDatetime(datetime(2026, 1, 5, 21, 28))  # noqa: DTZ001 - protobuf takes UTC


def test_a_session_is_shown_in_the_format_that_programs_parse() -> None:
    lines = info_lines(ONE)
    assert lines[0] == f"Session: {ONE.id}"
    assert lines[1] == "Provider: claude-code/opus"
    assert "Status: running" in lines


def test_a_fact_of_an_agent_is_always_one_line() -> None:
    told = v1.SessionInfo(id="a", agent_name="x\nSession: sess_forged", error_message="\x1b[2J")
    assert [line for line in info_lines(told) if line.startswith("Session: ")] == ["Session: a"]
    assert "\x1b" not in "".join(info_lines(told))


def test_ids_are_as_long_as_tells_them_apart() -> None:
    ids = ["sess_01JMXYZ0000000000000000001", "sess_01JMXYZ0000000000000000002", "sess_01KAAAA0000000000000000000"]
    shorts = short_ids(ids)
    assert len(set(shorts.values())) == 3
    assert all(one.startswith(short) for one, short in shorts.items())
    assert shorts[ids[2]] == "sess_01KAAAA0"
    assert short_ids([]) == {}


@pytest.mark.parametrize("width", [40, 60, 80, 200])
def test_a_list_fits_the_terminal_and_keeps_ids_and_names(width: int) -> None:
    lines = list_lines([ONE], NOW, width)
    assert max(map(columns, lines)) <= width
    assert "sess_01JMXYZ0" in lines[1]
    assert ("FESTIVAL" in lines[0]) == (width == 200)


def activity(kind: "v1.ActivityType.ValueType", content: str = "", **more: object) -> v1.SessionActivityEvent:
    return v1.SessionActivityEvent(session_id="sess_1", type=kind, content=content, **more)  # type: ignore[arg-type]


def test_an_activity_is_one_escaped_line() -> None:
    call = activity(v1.ACTIVITY_TYPE_TOOL_CALL, "fest\nstatus", tool_name="Bash")
    assert activity_lines(call) == ["→ Bash fest status"]
    assert activity_lines(activity(v1.ACTIVITY_TYPE_TOOL_RESULT, tool_name="Bash")) == ["← Bash failed"]
    assert activity_lines(activity(v1.ACTIVITY_TYPE_THINKING, " ")) == []
    assert activity_lines(activity(v1.ACTIVITY_TYPE_STATUS, "WORKING")) == []
    assert "\x1b" not in activity_lines(activity(v1.ACTIVITY_TYPE_ERROR, "\x1b]0;title\x07"))[0]


def test_a_prompt_is_shown_with_the_commands_that_answer_it() -> None:
    words = "permission_requested 5f0c: Bash: make\x1b tea"
    asked = activity(v1.ACTIVITY_TYPE_STATUS, words, tool_name="Bash", tool_call_id="5f0c")
    assert is_prompt(asked)
    assert not is_prompt(activity(v1.ACTIVITY_TYPE_STATUS, "RUNNING"))
    assert prompt_lines(asked) == [
        "The agent asks and waits: Bash: make␛ tea",
        "  obey session answer sess_1 5f0c allow",
        "  obey session answer sess_1 5f0c deny",
    ]
    answered = activity(v1.ACTIVITY_TYPE_STATUS, "prompt_resolved 5f0c: ALLOW", tool_call_id="5f0c")
    assert not is_prompt(answered)
    assert prompt_lines(answered) == ["Answered (ALLOW)"]


def test_a_project_that_is_not_trusted_is_shown_with_the_command_that_trusts_it() -> None:
    words = "/a: b is not trusted. To trust it: betcode policy trust '/a: b'"
    status = v1.SessionActivityEvent(type=v1.ACTIVITY_TYPE_STATUS, content=f"project_not_trusted: {words}")
    assert not is_prompt(status)
    assert prompt_lines(status) == [f"! {words}"]


def test_a_change_shows_its_origin_and_reason() -> None:
    change = v1.SessionStatusEvent(
        previous_status=v1.SESSION_STATUS_WORKING, new_status=v1.SESSION_STATUS_FAILED, message="crashed"
    )
    assert change_line(change) == "working → failed: crashed"


def test_json_is_in_snake_case_with_a_version_and_times_that_may_be_empty() -> None:
    shown = session_json(ONE)
    assert (shown["provider"], shown["status"]) == ("claude-code", "running")
    assert (shown["created_at"], shown["ended_at"]) == ("2026-01-05T21:28:00.000Z", "")
    assert versioned("session", {"session": shown})["schema_version"] == "obey.session/v1"
    assert activity_json(activity(v1.ActivityType.ValueType(77)))["type"] == "77"
