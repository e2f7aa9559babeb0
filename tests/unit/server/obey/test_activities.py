"""Activities as a projection of the log, shown with recordings of a real agent."""

import pytest

from betcode.domain.agents.project_files import Program, ProjectItem
from betcode.domain.values.identifiers import SessionId, ulid_spelling
from betcode.engine.permissions.project_guard import TRUST_RPC, ProjectInspection, ignored_notice
from betcode.server.obey.activities import Activities
from betcode.v1 import agent_pb2 as v1
from betcode.v1 import policy_pb2
from obey.local.v1 import local_pb2 as pb
from support.recordings.claude import SESSION, recordings
from support.recordings.replay import of_kind, replay


def told(events: list[v1.AgentEvent]) -> list[pb.SessionActivityEvent]:
    activities = Activities(SESSION.session_id)
    return [each for event in events for each in activities.take(event)]


def short(events: list[v1.AgentEvent]) -> list[tuple[str, str]]:
    return [(pb.ActivityType.Name(each.type).removeprefix("ACTIVITY_TYPE_"), each.content) for each in told(events)]


@pytest.mark.behaviour("obey.activity.thinking", "obey.activity.completion", "obey.activity.status")
def test_reasoning_is_told_as_a_whole_and_the_last_word_is_the_completion() -> None:
    assert short(replay("t_thinking")) == [
        ("STATUS", "WORKING"),
        ("THINKING", "First I consider the request. Then I decide to answer briefly."),
        ("COMPLETION", "Here is the short answer."),
        ("STATUS", "RUNNING"),
    ]


@pytest.mark.behaviour("obey.activity.tool-call", "obey.activity.tool-result")
def test_a_tool_is_told_with_its_name_at_both_ends() -> None:
    events = told(replay("b_bash_allow"))
    assert [(pb.ActivityType.Name(each.type)[14:], each.tool_name, each.content.split(" ")[0]) for each in events] == [
        ("STATUS", "", "WORKING"),
        ("THINKING", "", "I"),
        ("TOOL_CALL", "Bash", "touch"),
        ("STATUS", "Bash", "permission_requested"),
        ("TOOL_RESULT", "Bash", "2"),
        ("COMPLETION", "", "The"),
        ("STATUS", "", "RUNNING"),
    ]
    call, asked, result, completion = events[2:6]
    assert call.tool_call_id == result.tool_call_id != asked.tool_call_id
    assert asked.content == f"permission_requested {asked.tool_call_id}: Bash: touch made-by-tool.txt && wc -l app.py"
    assert (result.tool_success, completion.tokens_input, completion.tokens_output) == (True, 200, 40)


@pytest.mark.behaviour("obey.activity.tokens", "obey.activity.session-and-time")
@pytest.mark.parametrize("name", sorted(path.stem for path in recordings()))
def test_every_recording_keeps_its_sums(name: str) -> None:
    events = replay(name)
    activities = Activities(SESSION.session_id)
    seen = [each for event in events for each in activities.take(event)]
    end = v1.AgentEvent(error=v1.ErrorEvent(message="the end"))  # takes along what is left
    seen += activities.take(end)
    usage = [event.usage for event in of_kind(events, "usage")]
    assert sum(each.tokens_input for each in seen) == sum(each.input_tokens for each in usage)
    assert sum(each.tokens_output for each in seen) == sum(each.output_tokens for each in usage)
    ends = of_kind(events, "turn_complete")
    completions = [each for each in seen if each.type == pb.ACTIVITY_TYPE_COMPLETION]
    assert len(completions) <= len(ends)
    assert {each.session_id for each in seen} == {ulid_spelling(SessionId(SESSION.session_id))}
    results = [each for each in seen if each.type == pb.ACTIVITY_TYPE_TOOL_RESULT]
    calls = {each.tool_call_id: each.tool_name for each in seen if each.type == pb.ACTIVITY_TYPE_TOOL_CALL}
    assert all(each.tool_name == calls.get(each.tool_call_id, "") for each in results)


def test_a_project_that_is_not_trusted_is_told_with_the_ways_to_trust_it() -> None:
    item = ProjectItem(Program.CLAUDE, "/it's here/.mcp.json", "MCP servers (lab)")
    words = (
        "project_not_trusted: /it's here is not trusted: the agent runs without its project settings; deny rules "
        """still apply. To trust it: betcode policy trust '/it'"'"'s here'. """
        "Ignored: /it's here/.mcp.json: MCP servers (lab) (a client calls betcode.v1.PolicyService/TrustProject)"
    )
    notice = ignored_notice(ProjectInspection(("/it's here",), (item,), is_trusted=False))
    assert short([notice]) == [("STATUS", words)]


def test_the_call_that_the_notice_names_exists() -> None:
    service, _, method = TRUST_RPC.partition("/")
    descriptor = policy_pb2.DESCRIPTOR.services_by_name["PolicyService"]
    assert (descriptor.full_name, method in descriptor.methods_by_name) == (service, True)


@pytest.mark.behaviour("obey.activity.error", "obey.create.event", "obey.stop.event")
def test_errors_and_the_session_s_own_life_are_told() -> None:
    notice = v1.Notice(kind=v1.NOTICE_KIND_RUN, message="The agent was started", details={"event": "SESSION_STARTED"})
    failed = v1.Notice(message="Closed", details={"event": "SESSION_FAILED", "reason": "no such program"})
    events = [
        v1.AgentEvent(notice=notice),
        v1.AgentEvent(notice=v1.Notice(message="nothing of ours")),
        v1.AgentEvent(error=v1.ErrorEvent(message="the API is away")),
        v1.AgentEvent(turn_complete=v1.TurnComplete(stop_reason="error")),
        v1.AgentEvent(notice=failed),
    ]
    assert short(events) == [
        ("STATUS", "SESSION_STARTED: The agent was started"),
        ("ERROR", "the API is away"),
        ("ERROR", "The turn ended: error"),
        ("STATUS", "SESSION_FAILED: no such program"),
    ]


def test_a_gap_in_the_history_is_an_error_activity() -> None:
    assert short([v1.AgentEvent(gap=v1.Gap(reason="the journal was lost"))]) == [
        ("ERROR", "A part of the history is missing: the journal was lost")
    ]
