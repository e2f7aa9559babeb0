"""The end of sessions, and sessions begun again."""

from pathlib import Path

import anyio
import pytest

from betcode.client import NewConversation, open_client
from obey.local.v1 import local_pb2 as pb
from support.obey.daemon import Obeyed, Stub, how_agents_ended, refused, rest
from support.patience import PATIENCE_S
from support.storage.rows import ask

pytestmark = pytest.mark.anyio

CLAUDE = pb.SESSION_PROVIDER_CLAUDE_CODE
STOPPED = pb.SESSION_STATUS_STOPPED


def stopping(it: Obeyed, session_id: str, *, graceful: bool = False) -> "object":
    return it.stub.StopSession(pb.StopSessionRequest(session_id=session_id, graceful=graceful), timeout=PATIENCE_S)


@pytest.mark.behaviour("obey.stop.final", "obey.stop.agent-exit", "obey.status.terminal", "obey.stop.already")
async def test_a_stopped_session_has_ended_for_good(it: Obeyed) -> None:
    info = await it.create(CLAUDE)
    await it.send(info.id, "say something")
    stopped = await it.stop(info.id)
    assert (stopped.status, stopped.pid, stopped.error_message) == (STOPPED, 0, "")
    assert stopped.ended_at.ToNanoseconds() >= stopped.started_at.ToNanoseconds() > 0
    assert stopped.tokens_input > 0
    assert not Path(f"/proc/{info.pid}").exists()
    assert how_agents_ended(it.daemon, info.id) == ["exit code 0"], "it was asked to leave, and did"
    assert (await it.get(info.id)) == stopped
    for graceful in (True, False):
        again = await refused(stopping(it, info.id, graceful=graceful))
        assert (again.reason, again.status) == ("OBEY-2020", "FAILED_PRECONDITION")
    assert (await refused(it.send(info.id, "say more"))).reason == "OBEY-2011"
    assert (await it.get(info.id)) == stopped


@pytest.mark.behaviour("obey.stop.unknown", "obey.stop.states")
async def test_stopping_an_ended_session_reports_it(it: Obeyed) -> None:
    nobody = await refused(stopping(it, "sess_01JMXYZ0000000000000000000"))
    assert (nobody.reason, nobody.status) == ("OBEY-2010", "NOT_FOUND")
    async with open_client(it.daemon.paths) as client:
        made = await client.start_session(NewConversation(working_directory=str(it.root), provider="demo"))
    assert (await it.get(made)).status == pb.SESSION_STATUS_CREATED
    created = await refused(stopping(it, made))
    assert (created.reason, created.status) == ("OBEY-2011", "FAILED_PRECONDITION")
    begun = await it.restart(made)
    assert (begun.status, begun.campaign_id) == (pb.SESSION_STATUS_RUNNING, it.campaign_id)
    assert (await it.stop(made)).status == STOPPED


@pytest.mark.behaviour("obey.stop.states")
async def test_a_session_is_stopped_while_it_is_being_started(it: Obeyed) -> None:
    mute = {"command": '["sleep", "1000"]'}  # it never greets
    request = pb.CreateSessionRequest(campaign_id=it.campaign_id, provider=pb.SESSION_PROVIDER_ACP, agent_name="mute")
    request.provider_config.update(mute)
    call = it.stub.CreateSession(request, timeout=PATIENCE_S)
    with anyio.fail_after(PATIENCE_S):
        while not (starting := await it.listed(statuses=[pb.SESSION_STATUS_STARTING])):  # noqa: ASYNC110
            await anyio.sleep(0.01)
    stopped = await it.stop(starting[0])
    assert (stopped.agent_name, stopped.status, stopped.pid) == ("mute", STOPPED, 0)
    assert (await refused(call)).reason == "OBEY-2004"


@pytest.mark.behaviour("obey.stop.graceful", "obey.stop.stopping", "obey.stop.flushes", "obey.stop.states")
async def test_a_graceful_stop_lets_the_turn_end(it: Obeyed) -> None:
    info = await it.create(CLAUDE)
    call = await it.at_work(info.id, "wait gently\nsay the end")
    stopped: list[pb.SessionInfo] = []

    async def stop() -> None:
        stopped.append(await it.stop(info.id, graceful=True))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(stop)
        await it.until(info.id, pb.SESSION_STATUS_STOPPING)
        meanwhile = await refused(stopping(it, info.id))
        assert meanwhile.reason == "OBEY-2011"
        assert info.id in await it.listed(), "it counts as active"
        (it.root / "gently").touch()
        last = (await rest(call))[-1]
    assert last.content == "waitingthe end"
    assert stopped[0].status == STOPPED
    assert stopped[0].tokens_output == last.tokens_output > 0


@pytest.mark.behaviour("obey.stop.graceful-timeout")
async def test_a_turn_that_does_not_end_in_time_is_killed(it: Obeyed) -> None:
    info = await it.create(CLAUDE, initial_message="wait for-nobody")
    error = await refused(stopping(it, info.id, graceful=True))
    assert (error.reason, error.status) == ("OBEY-2021", "DEADLINE_EXCEEDED")
    assert not Path(f"/proc/{info.pid}").exists()
    after = await it.get(info.id)
    assert (after.status, after.HasField("ended_at")) == (STOPPED, True)


@pytest.mark.behaviour("obey.stop.immediate", "obey.stop.agent-exit", "obey.stop.states")
async def test_an_immediate_stop_waits_for_nothing(it: Obeyed) -> None:
    info = await it.create(CLAUDE)
    call = await it.at_work(info.id, "wait for-nobody")
    assert (await it.stop(info.id)).status == STOPPED
    assert how_agents_ended(it.daemon, info.id) == ["killed by signal SIGTERM"]
    cut = await refused(call)
    assert (cut.reason, cut.status) == ("OBEY-2011", "FAILED_PRECONDITION")


@pytest.mark.behaviour("obey.restart", "obey.restart.count")
async def test_a_live_session_is_restarted_under_its_id(it: Obeyed) -> None:
    info = await it.create(CLAUDE, model="opus", agent_name="again", festival_id="F", task_id="T")
    await it.send(info.id, "say before")
    restarted = await it.restart(info.id)
    assert restarted.pid not in (0, info.pid)
    assert not Path(f"/proc/{info.pid}").exists()
    assert restarted.restart_count == 1
    same = ("id", "campaign_id", "provider", "model", "agent_name", "festival_id", "task_id", "working_dir", "status")
    assert [getattr(restarted, name) for name in same] == [getattr(info, name) for name in same]
    assert (await it.send(info.id, "say after"))[-1].content == "after"
    twice = await it.restart(info.id)
    assert twice.restart_count == 2
    await it.stop(info.id)


@pytest.mark.behaviour("obey.restart")
async def test_a_session_at_work_is_cut_short_by_a_restart(it: Obeyed) -> None:
    info = await it.create(CLAUDE)
    call = await it.at_work(info.id, "wait for-nobody")
    restarted = await it.restart(info.id)
    assert restarted.status == pb.SESSION_STATUS_RUNNING
    assert (await refused(call)).reason == "OBEY-2000"
    assert (await it.send(info.id, "say new"))[-1].content == "new"
    await it.stop(info.id)


@pytest.mark.behaviour("obey.restart", "obey.restart.count", "obey.restart.unknown")
async def test_a_session_that_has_ended_is_made_again_under_another_id(it: Obeyed) -> None:
    info = await it.create(
        CLAUDE, agent_name="phoenix", festival_id="F", environment={"FLAVOUR": "sour"}, max_tokens=9999
    )
    ended = await it.stop(info.id)
    made = await it.restart(info.id)
    assert made.id != info.id
    assert (made.agent_name, made.festival_id, made.restart_count, made.max_tokens) == ("phoenix", "F", 1, 9999)
    assert made.status == pb.SESSION_STATUS_RUNNING
    assert (await it.send(made.id, "env FLAVOUR\nenv OBEY_SESSION_ID"))[-1].content == f"sour{made.id}"
    assert await it.get(info.id) == ended
    kept = ask(it.daemon.paths.database, "SELECT parent FROM session_bonds WHERE parent != ''")
    assert (info.id,) in kept, "it is known which one it was made from"
    await it.stop(made.id)
    nobody = await refused(it.restart("sess_01JMXYZ0000000000000000000"))
    assert (nobody.reason, nobody.status) == ("OBEY-2010", "NOT_FOUND")


async def test_a_configuration_that_the_provider_does_not_take_changes_nothing(it: Obeyed) -> None:
    info = await it.create(CLAUDE)
    error = await refused(it.restart(info.id, unheard_of="1"))
    assert (error.reason, error.status) == ("OBEY-2000", "INVALID_ARGUMENT")
    assert await it.get(info.id) == info
    await it.stop(info.id)


async def deaf_one_is_there(it: Obeyed, session_id: str, before: int = 0) -> None:
    """The session's agent, another than that of before, has seen that it is to be deaf; the next is not."""
    with anyio.fail_after(PATIENCE_S):
        while (pid := (await it.get(session_id)).pid) == before or pid not in it.daemon.agent_pids:  # noqa: ASYNC110
            await anyio.sleep(0.01)
    (it.root / "deaf").unlink()


@pytest.mark.behaviour("obey.restart")
async def test_a_restart_during_the_start_is_reported_to_the_creator(it: Obeyed) -> None:
    known = set(await it.listed())
    (it.root / "deaf").touch()
    async with it.other_client() as stub:
        making = stub.CreateSession(pb.CreateSessionRequest(campaign_id=it.campaign_id, provider=CLAUDE))
        with anyio.fail_after(PATIENCE_S):
            while not (new := set(await it.listed()) - known):  # noqa: ASYNC110
                await anyio.sleep(0.01)
        (session_id,) = new
        await deaf_one_is_there(it, session_id)
        assert (await it.restart(session_id)).status == pb.SESSION_STATUS_RUNNING
        error = await refused(making)
    assert error.reason == "OBEY-2004"
    assert "closed" not in error.message, "it goes on, in other hands"
    assert (await it.send(session_id, "say new"))[-1].content == "new"
    await it.stop(session_id)


async def starting_anew(it: Obeyed, info: pb.SessionInfo, stub: Stub) -> object:
    """A restart whose agent does not answer yet."""
    (it.root / "deaf").touch()
    call = stub.RestartSession(pb.RestartSessionRequest(session_id=info.id))
    await deaf_one_is_there(it, info.id, info.pid)
    return call


@pytest.mark.behaviour("obey.stop.states", "obey.restart", "obey.restart.count")
async def test_a_restart_is_overtaken_by_another_and_by_a_stop(it: Obeyed) -> None:
    info = await it.create(CLAUDE)
    async with it.other_client() as stub:
        overtaken = await starting_anew(it, info, stub)
        info = await it.restart(info.id)
        assert (info.status, info.restart_count) == (pb.SESSION_STATUS_RUNNING, 2)
        assert (await refused(overtaken)).reason == "OBEY-2011"
        overtaken = await starting_anew(it, info, stub)
        ended = await it.stop(info.id)
        assert (await refused(overtaken)).reason == "OBEY-2011"
    assert (ended.status, ended.error_message, ended.restart_count) == (STOPPED, "", 3)
    assert await it.get(info.id) == ended
