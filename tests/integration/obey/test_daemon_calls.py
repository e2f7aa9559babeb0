"""The daemon itself by the obey API: its state, commands in campaigns, what others report, and its end."""

import json
import os
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest
from google.protobuf.timestamp_pb2 import Timestamp

from obey.local.v1 import local_pb2 as pb
from support.obey.daemon import Obeyed, add_campaign, obeyed, refused
from support.patience import PATIENCE_S
from support.storage.rows import ask

pytestmark = pytest.mark.anyio


async def executed(it: Obeyed, command: str, *args: str, campaign_id: str = "") -> tuple[bytes, bytes, pb.ExecuteExit]:
    request = pb.ExecuteRequest(command=command, args=args, campaign_id=campaign_id or it.campaign_id)
    out, err, ended = b"", b"", None
    async for piece in it.stub.Execute(request, timeout=PATIENCE_S):
        assert ended is None, "the exit comes last"
        match piece.WhichOneof("output"):
            case "stdout":
                out += piece.stdout
            case "stderr":
                err += piece.stderr
            case _:
                ended = piece.exit
    assert ended is not None
    return out, err, ended


@pytest.mark.behaviour("obey.contract.existing-rpcs")
async def test_ping_returns_identity_and_address(it: Obeyed) -> None:
    answer = await it.stub.Ping(pb.PingRequest())
    assert (answer.version != "", answer.hostname, answer.hub_status) == (True, os.uname().nodename, "disconnected")
    assert answer.campaign_count == 1


@pytest.mark.behaviour("obey.existing.get-state", "obey.list.by-status", "obey.list.by-provider")
@pytest.mark.behaviour("obey.list.include-terminated", "obey.list.default-active")
async def test_the_state_and_the_list_show_what_is_active(it: Obeyed) -> None:
    one, two = await it.create(agent_name="one"), await it.create(pb.SESSION_PROVIDER_CLAUDE_CODE, agent_name="two")
    await it.stop(two.id)
    state = await it.stub.GetState(pb.StateRequest())
    assert [each.id for each in state.campaigns] == [it.campaign_id]
    assert [
        (each.id, each.campaign_id, each.provider, each.agent_name, each.status) for each in state.active_sessions
    ] == [(one.id, it.campaign_id, pb.SESSION_PROVIDER_DEMO, "one", pb.SESSION_STATUS_RUNNING)]
    assert await it.listed() == [one.id]
    assert await it.listed(include_terminated=True) == [two.id, one.id]
    assert await it.listed(statuses=[pb.SESSION_STATUS_STOPPED]) == [two.id]
    assert await it.listed(statuses=[pb.SESSION_STATUS_WORKING]) == []
    assert await it.listed(provider=pb.SESSION_PROVIDER_DEMO, include_terminated=True) == [one.id]
    assert await it.listed(provider=pb.SESSION_PROVIDER_CODEX, include_terminated=True) == []
    await it.stop(one.id)


async def test_a_command_runs_in_the_campaign_and_nothing_else_does(it: Obeyed) -> None:
    await anyio.run_process(["git", "init", "-q", str(it.root)])
    out, err, ended = await executed(it, "git", "rev-parse", "--show-toplevel")
    assert (out.decode().strip(), err, ended.exit_code) == (str(it.root), b"", 0)
    assert ended.duration.ToMilliseconds() >= 0
    _, err, ended = await executed(it, "git", "rev-parse", "--verify", "no-such-name")
    assert (ended.exit_code, b"fatal" in err) == (128, True)
    for command in ("sh", "git push --force", "/bin/sh"):
        name, *args = command.split()
        request = pb.ExecuteRequest(command=name, args=args, campaign_id=it.campaign_id)
        error = await refused(it.stub.Execute(request))
        assert (error.reason, error.status) == ("OBEY-2000", "PERMISSION_DENIED"), command
    nowhere = await refused(it.stub.Execute(pb.ExecuteRequest(command="git", campaign_id="nobody")))
    assert nowhere.reason == "OBEY-2001"


async def test_reports_are_stored_once_and_shown_in_the_state(it: Obeyed) -> None:
    other = add_campaign(it.daemon.root / "home", it.daemon.root / "elsewhere", "elsewhere")
    campaign = pb.CampaignEventRequest(campaign_id=other, event_type="PROJECT_ADDED", payload=b'{"name": "p"}')
    assert (await it.stub.ReportCampaignEvent(campaign)).message == ""
    assert "just before" in (await it.stub.ReportCampaignEvent(campaign)).message
    for kind, task in (("FESTIVAL_CREATED", ""), ("TASK_COMPLETED", "a"), ("TASK_STARTED", "b")):
        payload = json.dumps({"name": "Hedera", "status": "active"} if not task else {}).encode()
        event = pb.FestivalEventRequest(campaign_id=other, event_type=kind, festival_id="HF0001", task_id=task)
        event.payload = payload
        assert (await it.stub.ReportFestivalEvent(event)).accepted
    state = await it.stub.GetState(pb.StateRequest(campaign_id="elsewhere"))
    assert [(each.id, each.HasField("updated_at")) for each in state.campaigns] == [(other, True)]
    (festival,) = state.festivals
    assert (festival.id, festival.name, festival.status) == ("HF0001", "Hedera", "active")
    assert (festival.tasks_total, festival.tasks_completed) == (2, 1)
    wrong = pb.CampaignEventRequest(campaign_id=other, event_type="CAMPAIGN_EATEN")
    assert (await refused(it.stub.ReportCampaignEvent(wrong))).reason == "OBEY-2000"


@pytest.mark.parametrize("seconds", [-1, 2**62, 253402300799])
async def test_a_time_out_of_range_is_refused(it: Obeyed, seconds: int) -> None:
    when = Timestamp(seconds=seconds)
    campaign = pb.CampaignEventRequest(campaign_id=it.campaign_id, event_type="PROJECT_ADDED", timestamp=when)
    pushed = pb.AgentActivityEvent(session_id="s", event_type="AGENT_THINKING", timestamp=when)
    for call in (it.stub.ReportCampaignEvent(campaign), it.stub.StreamAgentActivity(iter([pushed]))):
        error = await refused(call)
        assert (error.reason, error.status) == ("OBEY-2000", "INVALID_ARGUMENT")


@pytest.mark.behaviour("obey.existing.stream-activity")
async def test_pushed_activities_are_stored_unchanged(it: Obeyed) -> None:
    async def reports(*events: pb.AgentActivityEvent) -> AsyncIterator[pb.AgentActivityEvent]:
        for event in events:
            yield event

    call = pb.AgentActivityEvent(
        session_id="theirs",
        event_type="AGENT_TOOL_RESULT",
        tool_name="Read",
        tool_call_id="tc_1",
        tool_arguments=b'{"path": "a"}',
        tool_output="text",
        tool_success=True,
    )
    ack = await it.stub.StreamAgentActivity(reports(*[call] * 100))
    assert ack.accepted == 100
    wrong = pb.AgentActivityEvent(session_id="theirs", event_type="AGENT_SLEEPS")
    error = await refused(it.stub.StreamAgentActivity(reports(call, wrong)))
    assert (error.reason, error.status) == ("OBEY-2000", "INVALID_ARGUMENT")
    kept = ask(it.daemon.paths.database, "SELECT tool_name, tool_output, tool_success FROM agent_activities")
    assert kept == [("Read", "text", 1)] * 101, "what came before the wrong one is kept"


async def test_shutdown_is_as_a_sigterm_would_be(tmp_path: Path) -> None:
    async with obeyed(tmp_path) as it:
        info = await it.create(pb.SESSION_PROVIDER_CLAUDE_CODE, initial_message="wait for-nobody")
        assert (await it.stub.Shutdown(pb.ShutdownRequest(graceful=True))).accepted
        assert await it.daemon.ended() == 0
        assert Path(f"/proc/{info.pid}").exists(), "an agent at work goes on"
