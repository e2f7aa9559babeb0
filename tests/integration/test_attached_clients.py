"""Several clients on one session, and clients that come back."""

from contextlib import aclosing
from pathlib import Path

import anyio
import pytest

from betcode.client import Client, ClientIdentity, open_client
from betcode.v1 import agent_pb2 as v1
from support.daemon.process import becomes_true, obedient_daemon
from support.daemon.session import Talk, assert_whole, is_idle, kind_of
from support.patience import PATIENCE_S
from support.processes.command import shell
from support.providers.claude_world import obedient_talk

pytestmark = pytest.mark.anyio


async def numbered(client: Client, session_id: str, after: int = 0) -> list[v1.AgentEvent]:
    """The stored events after a position, up to the end of the turn."""
    found: list[v1.AgentEvent] = []
    with anyio.fail_after(PATIENCE_S):
        async with aclosing(client.follow(session_id, after)) as events:
            async for event in events:
                if event.sequence:
                    found.append(event)
                if is_idle(event):
                    break
    return found


@pytest.mark.behaviour("permission.ask.lock-holder")
async def test_every_attached_client_gets_a_permission_request_whoever_holds_the_lock(tmp_path: Path) -> None:
    async with (
        obedient_daemon(tmp_path) as daemon,
        open_client(daemon.paths, ClientIdentity("typist")) as typist,
        open_client(daemon.paths, ClientIdentity("watcher")) as watcher,
    ):
        talk = await obedient_talk(daemon, typist)
        assert (await typist.input_lock.request(talk.session_id)).granted
        await talk.say("tool")
        beside = Talk(watcher, talk.session_id)
        requests = [await talk.asked(), await beside.asked()]
        assert requests[0] == requests[1]
        await beside.answer(requests[1], allow=True)
        assert [event.sequence for event in await beside.until(is_idle)]


@pytest.mark.behaviour("events.sequence.per-session")
async def test_each_session_counts_from_1_however_many_clients_are_attached(tmp_path: Path) -> None:
    async with obedient_daemon(tmp_path) as daemon, open_client(daemon.paths) as client:
        crowded, lonely = await obedient_talk(daemon, client), await obedient_talk(daemon, client)
        seen: list[list[v1.AgentEvent]] = []

        async def attend() -> None:
            async with open_client(daemon.paths) as own:
                seen.append(await numbered(own, crowded.session_id))

        async with anyio.create_task_group() as tasks:
            for _ in range(3):
                tasks.start_soon(attend)
            await crowded.turn("say one two three")
        await lonely.turn("say one two three")
        assert seen == [crowded.events] * 3
        for talk in (crowded, lonely):
            assert talk.events[0].sequence == 1
            assert_whole(talk.events)
        assert len(crowded.events) == len(lonely.events)


@pytest.mark.behaviour("reconnect.during-tool")
async def test_a_client_that_comes_back_while_a_tool_runs_gets_the_rest_and_then_live_events(tmp_path: Path) -> None:
    async with obedient_daemon(tmp_path) as daemon, open_client(daemon.paths) as client:
        talk = await obedient_talk(daemon, client)
        (daemon.work / "hold").write_text("ran")
        await talk.say("tool\nsay done")
        request = await talk.asked()
        left_at = talk.position
        await talk.answer(request, allow=True)
        await becomes_true((daemon.work / "at-ran").exists)  # the tool runs, and nobody is attached
        missed: list[v1.AgentEvent] = []
        async with open_client(daemon.paths) as again:
            with anyio.fail_after(PATIENCE_S):
                async with aclosing(again.follow(talk.session_id, left_at)) as events:
                    async for event in events:
                        if event.sequence:
                            missed.append(event)
                        if event.status_change.status == v1.EXECUTING_TOOL:
                            assert "tool_call_result" not in [kind_of(each) for each in missed]
                            (daemon.work / "hold").unlink()
                        if is_idle(event):
                            break
        assert "tool_call_result" in [kind_of(event) for event in missed]
        talk.events += missed
        assert_whole(talk.events)


@pytest.mark.behaviour("reconnect.cli-memory")
def test_the_command_line_writes_no_position_to_disk(tmp_path: Path) -> None:
    with shell(tmp_path) as here:
        session = here.json("run", "--json", "say one two three")["session_id"]
        home = tmp_path / "home of the client"
        own = {name: str(home / name) for name in ("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME")}
        for directory in own.values():
            Path(directory).mkdir(parents=True)
        before = sorted(tmp_path.rglob("*"))
        shown = [here.run("session", "follow", session, "--after", "0", "--until-idle", **own) for _ in range(2)]
        assert [done.returncode for done in shown] == [0, 0]
        assert "one two three" in shown[0].stdout
        assert shown[0].stdout == shown[1].stdout, "the second begins at the first event again"
        assert [path for path in sorted(tmp_path.rglob("*")) if path not in before] == []
