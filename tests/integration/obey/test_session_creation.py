"""Making sessions by the obey API: what is checked, in which order, and what is there afterwards."""

import os
import re
import signal
import time
from pathlib import Path

import pytest
from google.protobuf.duration_pb2 import Duration

from betcode.client import open_client
from obey.local.v1 import local_pb2 as pb
from support.daemon.clock import eventually
from support.obey.daemon import Obeyed, add_campaign, refused

pytestmark = pytest.mark.anyio

CLAUDE, DEMO = pb.SESSION_PROVIDER_CLAUDE_CODE, pb.SESSION_PROVIDER_DEMO


@pytest.mark.behaviour("obey.create.answer", "obey.create.id", "obey.create.bindings", "obey.campaign-required")
async def test_a_session_is_answered_with_all_that_it_is(it: Obeyed) -> None:
    before = time.time()
    info = await it.create(
        CLAUDE, model="opus", agent_name="coordinator", festival_id="hedera-foundation-HF0001", task_id="001/01_link.md"
    )
    assert re.fullmatch("sess_[0-9A-HJKMNP-TV-Z]{26}", info.id)
    assert (info.campaign_id, info.provider, info.model) == (it.campaign_id, CLAUDE, "opus")
    assert (info.agent_name, info.festival_id, info.task_id) == (
        "coordinator",
        "hedera-foundation-HF0001",
        "001/01_link.md",
    )
    assert info.status == pb.SESSION_STATUS_RUNNING
    assert Path(info.working_dir) == it.root
    assert before <= info.created_at.ToNanoseconds() / 1e9 <= info.started_at.ToNanoseconds() / 1e9 <= time.time()
    assert Path(f"/proc/{info.pid}/cwd").readlink() == it.root
    assert not info.HasField("ended_at")
    await it.stop(info.id)


@pytest.mark.behaviour("obey.create.pid")
async def test_the_pid_is_that_of_the_agent_and_0_without_one(it: Obeyed) -> None:
    info = await it.create(CLAUDE)
    assert str(it.daemon.root / "agent-obedient").encode() in Path(f"/proc/{info.pid}/cmdline").read_bytes()
    os.kill(info.pid, signal.SIGKILL)  # no turn is open, so no other agent is started
    await eventually(lambda: it.get(info.id), lambda now: now.pid == 0)
    assert (await it.get(info.id)).status == pb.SESSION_STATUS_RUNNING
    await it.send(info.id, "say hello")
    assert (await it.get(info.id)).pid not in (0, info.pid)
    await it.stop(info.id)


@pytest.mark.behaviour("obey.create.name-default", "obey.create.model-default")
async def test_omitted_fields_have_defaults(it: Obeyed) -> None:
    info = await it.create(CLAUDE)
    assert info.agent_name == f"claude-code-{info.id[-6:].lower()}"
    assert info.model == "default", "until the agent reports which"
    await it.send(info.id, "say hello")
    assert (await it.get(info.id)).model == "obedient-1"
    await it.stop(info.id)


@pytest.mark.behaviour("obey.create.campaign-missing", "obey.create.provider-required", "obey.create.model-validated")
@pytest.mark.behaviour("obey.error.format")
@pytest.mark.parametrize(
    ("fields", "code", "status"),
    [
        ({"campaign_id": ""}, "OBEY-2001", "NOT_FOUND"),
        ({"campaign_id": "nobody", "provider": 0}, "OBEY-2001", "NOT_FOUND"),
        ({"provider": 0, "model": "gpt-4o"}, "OBEY-2002", "INVALID_ARGUMENT"),
        ({"provider": 99}, "OBEY-2002", "INVALID_ARGUMENT"),
        ({"provider": CLAUDE, "model": "gpt-4o"}, "OBEY-2003", "INVALID_ARGUMENT"),
        ({"max_tokens": -1}, "OBEY-2000", "INVALID_ARGUMENT"),
        ({"agent_name": "two\nlines"}, "OBEY-2000", "INVALID_ARGUMENT"),
        ({"environment": {"OBEY_SESSION_ID": "mine"}}, "OBEY-2000", "INVALID_ARGUMENT"),
        ({"provider_config": {"unheard-of": "1"}}, "OBEY-2000", "INVALID_ARGUMENT"),
        ({"festival_id": "F" * 2000}, "OBEY-2000", "INVALID_ARGUMENT"),
        ({"task_id": "two\nlines"}, "OBEY-2000", "INVALID_ARGUMENT"),
        ({"working_dir": "deep/" * 2000}, "OBEY-2000", "INVALID_ARGUMENT"),
        ({"timeout": Duration(seconds=1, nanos=-1)}, "OBEY-2000", "INVALID_ARGUMENT"),
        ({"timeout": Duration(seconds=2**40)}, "OBEY-2000", "INVALID_ARGUMENT"),
        ({"initial_message": " "}, "OBEY-2000", "INVALID_ARGUMENT"),
    ],
    ids=str,
)
async def test_what_cannot_be_makes_nothing(it: Obeyed, fields: dict[str, object], code: str, status: str) -> None:
    before = await it.listed(include_terminated=True)
    request = {"campaign_id": it.campaign_id, "provider": DEMO, **fields}
    error = await refused(it.stub.CreateSession(pb.CreateSessionRequest(**request)))  # type: ignore[arg-type]
    assert (error.reason, error.status) == (code, status)
    assert error.message.startswith(f"{code}: ")
    assert (error.domain, error.trailer) == ("obey.local.v1", code)
    assert await it.listed(include_terminated=True) == before


@pytest.mark.behaviour("obey.create.sandbox-error")
async def test_a_campaign_that_cannot_be_used_starts_no_agent(it: Obeyed) -> None:
    gone = it.daemon.root / "gone"
    campaign = add_campaign(it.daemon.root / "home", gone, "gone")
    (gone / ".campaign" / "campaign.yaml").unlink()
    (gone / ".campaign").rmdir()
    before = await it.listed(include_terminated=True)
    error = await refused(it.stub.CreateSession(pb.CreateSessionRequest(campaign_id=campaign, provider=DEMO)))
    assert (error.reason, error.status) == ("OBEY-2005", "INTERNAL")
    assert await it.listed(include_terminated=True) == before


@pytest.mark.behaviour("obey.create.environment", "obey.create.working-dir")
async def test_the_agent_sees_its_campaign_and_what_was_asked_for(it: Obeyed) -> None:
    info = await it.create(CLAUDE, agent_name="scout", environment={"FLAVOUR": "sweet"})
    names = ("FLAVOUR", "OBEY_SESSION_ID", "OBEY_CAMPAIGN_ID", "OBEY_CAMPAIGN_DIR", "OBEY_AGENT", "OBEY_DAEMON_SOCKET")
    said = (await it.send(info.id, "\n".join(f"env {name}\nsay |" for name in names)))[-1].content
    socket = str(it.daemon.paths.obey_socket)
    assert said.split("|")[:-1] == ["sweet", info.id, it.campaign_id, str(it.root), "scout", socket]
    await it.stop(info.id)


@pytest.mark.behaviour("obey.create.initial-message")
async def test_a_first_message_is_worked_on_at_once(it: Obeyed) -> None:
    info = await it.create(CLAUDE, initial_message="wait go\nsay done")
    assert info.status == pb.SESSION_STATUS_WORKING
    (it.root / "go").touch()
    done = await it.until(info.id, pb.SESSION_STATUS_RUNNING)
    assert done.tokens_output > 0
    (it.root / "go").unlink()
    await it.stop(info.id)


@pytest.mark.behaviour("obey.create.adapter-error", "obey.status.failed")
async def test_an_agent_that_does_not_start_fails_the_session(it: Obeyed) -> None:
    doomed = {"BETCODE_OBEDIENT_KILLED_ONCE": str(it.root / "killed-once")}
    request = pb.CreateSessionRequest(campaign_id=it.campaign_id, provider=CLAUDE, environment=doomed)
    error = await refused(it.stub.CreateSession(request))
    assert (error.reason, error.status) == ("OBEY-2004", "INTERNAL")
    info = await it.get(error.facts["session_id"])
    assert info.status == pb.SESSION_STATUS_FAILED
    assert "SIGKILL" in info.error_message
    assert info.HasField("ended_at")
    assert info.pid == 0
    assert not info.HasField("started_at")


@pytest.mark.behaviour("obey.create.adapter-error")
async def test_without_the_agents_program_no_session_is_made(it: Obeyed) -> None:
    known = len((await it.stub.ListSessions(pb.ListSessionsRequest())).sessions)
    config = {"command": '["no-such-agent", "acp"]'}
    request = pb.CreateSessionRequest(
        campaign_id=it.campaign_id, provider=pb.SESSION_PROVIDER_ACP, provider_config=config
    )
    error = await refused(it.stub.CreateSession(request))
    assert (error.reason, error.status) == ("OBEY-2004", "INTERNAL")
    assert "no-such-agent was not found" in error.message
    assert len((await it.stub.ListSessions(pb.ListSessionsRequest())).sessions) == known


@pytest.mark.behaviour("obey.get", "obey.get.unknown")
async def test_a_session_is_found_by_either_spelling_of_its_id(it: Obeyed) -> None:
    info = await it.create()
    async with open_client(it.daemon.paths) as client:
        other = {each.name: each.id for each in (await client.list_sessions()).sessions}[info.agent_name]
    assert await it.get(other) == info
    for text in ("", "sess_", "sess_01JMXYZ", str(os.getpid()), other[:-1] + ("0" if other[-1] != "0" else "1")):
        assert (await refused(it.stub.GetSession(pb.GetSessionRequest(session_id=text)))).reason == "OBEY-2010"
    await it.stop(info.id)
