"""A daemon that is killed leaves sessions of the obey API in every state, and the next one goes on with each."""

from pathlib import Path

import anyio
import apsw
import pytest

from betcode.client import NewConversation, open_client
from obey.local.v1 import local_pb2 as pb
from support.obey.daemon import Obeyed, obey_stub, obeyed, refused
from support.patience import PATIENCE_S

pytestmark = pytest.mark.anyio

CLAUDE = pb.SESSION_PROVIDER_CLAUDE_CODE
CREATED, STARTING, RUNNING, WORKING = (
    pb.SessionStatus.Value(f"SESSION_STATUS_{n}") for n in ("CREATED", "STARTING", "RUNNING", "WORKING")
)
STOPPING, STOPPED, FAILED = (pb.SessionStatus.Value(f"SESSION_STATUS_{n}") for n in ("STOPPING", "STOPPED", "FAILED"))


async def starting(it: Obeyed) -> str:
    """A session whose agent does not answer yet; its client has left."""
    known = set(await it.listed())
    (it.root / "deaf").touch()
    async with it.other_client() as stub:
        call = stub.CreateSession(pb.CreateSessionRequest(campaign_id=it.campaign_id, provider=CLAUDE))
        with anyio.fail_after(PATIENCE_S):
            while not (new := set(await it.listed()) - known):  # noqa: ASYNC110
                await anyio.sleep(0.01)
            (session_id,) = new
            while (await it.get(session_id)).pid == 0:  # noqa: ASYNC110
                await anyio.sleep(0.01)
        call.cancel()
    assert (await it.get(session_id)).status == STARTING
    return session_id


async def test_every_state_is_found_again(tmp_path: Path) -> None:
    async with obeyed(tmp_path, settings={"obey": {"stop_timeout": "30s"}}) as it:
        async with open_client(it.daemon.paths) as client:
            created = await client.start_session(NewConversation(working_directory=str(it.root), provider="claude"))
        idle = await it.create(CLAUDE, festival_id="F")
        busy = await it.create(CLAUDE, initial_message="wait busy\nsay done")
        leaving = await it.create(CLAUDE, initial_message="wait leaving\nsay bye")
        stopped = await it.stop((await it.create(CLAUDE)).id)
        doomed = {"BETCODE_OBEDIENT_KILLED_ONCE": str(it.root / "killed")}
        failed = await it.get((await refused(it.create(CLAUDE, environment=doomed))).facts["session_id"])
        unready = await starting(it)
        async with it.other_client() as stub:
            stopping = stub.StopSession(pb.StopSessionRequest(session_id=leaving.id, graceful=True))
            await it.until(leaving.id, STOPPING)
            it.daemon.kill()
            stopping.cancel()
        (it.root / "deaf").unlink()
        await it.daemon.start()
        async with obey_stub(it.daemon.paths.obey_socket) as stub:
            it.stub = stub
            again = {name: await it.get(name) for name in (created, idle.id, busy.id, leaving.id, unready)}
            assert [info.status for info in again.values()] == [CREATED, RUNNING, WORKING, STOPPING, RUNNING]
            assert (again[idle.id].pid, again[idle.id].festival_id) == (idle.pid, "F"), "the same agent, adopted"
            assert again[busy.id].pid == busy.pid
            assert [await it.get(each.id) for each in (stopped, failed)] == [stopped, failed]
            (it.root / "busy").touch()
            (it.root / "leaving").touch()
            await it.until(busy.id, RUNNING)
            bye = await it.until(leaving.id, STOPPED)
            assert bye.tokens_output > 0, "its turn has ended first"
            assert (await it.send(idle.id, "say hello"))[-1].content == "hello"


@pytest.mark.behaviour("obey.send.timeout", "obey.error.2030")
async def test_a_timeout_and_a_provider_outlive_the_daemon(tmp_path: Path) -> None:
    async with obeyed(tmp_path) as it:
        request = pb.CreateSessionRequest(campaign_id=it.campaign_id, provider=CLAUDE, initial_message="wait for-ever")
        request.timeout.FromMilliseconds(1500)
        timed = (await it.stub.CreateSession(request)).session
        orphan = await it.create(CLAUDE)
        await it.stub.Shutdown(pb.ShutdownRequest())
        await it.daemon.ended()
        db = apsw.Connection(str(it.daemon.paths.database))
        db.execute("UPDATE sessions SET provider = 'gone' WHERE name = ?", (orphan.agent_name,))
        db.close()
        await it.daemon.start()
        async with obey_stub(it.daemon.paths.obey_socket) as stub:
            it.stub = stub
            await it.until(timed.id, RUNNING)
            late = await refused(stub.SendMessage(pb.SendMessageRequest(session_id=timed.id, message="say hello")))
            assert (late.reason, late.status) == ("OBEY-2014", "DEADLINE_EXCEEDED")
            assert (await it.get(orphan.id)).provider == pb.SESSION_PROVIDER_UNSPECIFIED
            missing = await refused(stub.SendMessage(pb.SendMessageRequest(session_id=orphan.id, message="say hello")))
            assert (missing.reason, missing.status) == ("OBEY-2030", "FAILED_PRECONDITION")
