"""A daemon that starts while nothing can be written: it is read-only until that has passed, and nothing is lost."""

import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path

import anyio
import grpc
import pytest

from betcode.client import Client, Unreachable, open_client
from betcode.v1 import agent_pb2 as v1
from betcode.v1.health_pb2 import HealthDetailsResponse, ServingStatus
from support.daemon.process import Daemon, agent_program, becomes_true
from support.daemon.session import Talk, assert_whole, is_idle, kinds, settled_text
from support.patience import PATIENCE_S
from support.providers.claude_world import obedient_talk
from support.storage.disk import fill, small_disk
from support.storage.rows import locked_by_another_program

pytestmark = pytest.mark.anyio

Cause = Callable[[Daemon, ExitStack], None]


def full_disk(daemon: Daemon, stack: ExitStack) -> None:
    stack.callback(fill(daemon.root).unlink)


def locked(daemon: Daemon, stack: ExitStack) -> None:
    stack.enter_context(locked_by_another_program(daemon.paths.database))


CAUSES = {
    "full disk": (full_disk, "disk is full"),
    "locked": (locked, "another program holds its lock"),
}


async def health_when(client: Client, wanted: Callable[[HealthDetailsResponse], bool]) -> HealthDetailsResponse:
    with anyio.fail_after(PATIENCE_S):
        while True:
            with suppress(Unreachable):  # it is only starting
                if wanted(details := await client.health()):
                    return details
            await anyio.sleep(0.05)


async def launched(daemon: Daemon) -> None:
    process = daemon.launch()
    await becomes_true(lambda: process.poll() is not None or daemon.paths.socket.exists())
    assert process.poll() is None, daemon.stderr[-2000:]


@pytest.mark.parametrize("cause", CAUSES)
@pytest.mark.parametrize("stopped", [False, True], ids=["killed", "stopped"])
async def test_a_daemon_that_cannot_write_serves_what_can_be_read_and_recovers_by_itself(
    tmp_path: Path, cause: str, stopped: bool
) -> None:
    happen, words = CAUSES[cause]
    with small_disk(tmp_path / "disk", 48) as disk, ExitStack() as stack:
        daemon = Daemon(disk, claude_bin=agent_program(tmp_path))
        try:
            await daemon.start()
            async with open_client(daemon.paths) as client:
                asks, works = await obedient_talk(daemon, client), await obedient_talk(daemon, client)
                await works.say("say before\nwait go\nsay after")
                await works.until(lambda event: event.text_delta.text == "waiting")
                await asks.say("tool\nsay done")
                asked = await asks.asked()
            if stopped:
                await daemon.stop()
            else:
                daemon.kill()
            happen(daemon, stack)
            await launched(daemon)
            async with open_client(daemon.paths, sleep=daemon.until_it_serves) as client:
                asks.client = works.client = client
                details = await health_when(client, lambda each: words in each.degraded_reason)
                assert details.overall_status == ServingStatus.NOT_SERVING
                await assert_readable(client, works, asks, asked.request_id)
                await assert_refused(daemon, works)
                shown = status(daemon)
                assert words in shown, shown
                (daemon.work / "go").touch()  # the agent is at work all the time
                stack.close()
                await health_when(client, lambda each: each.overall_status == ServingStatus.SERVING)
                assert settled_text(await works.until(is_idle)).endswith("after")
                assert not await asks.answer(asked, allow=True), "nobody had"
                assert settled_text(await asks.until(is_idle)).endswith("done")
                for talk in (works, asks):
                    assert_whole(talk.events)
                    assert "error" not in kinds(talk.events)
                assert settled_text(await works.turn("say again")) == "again"
        finally:
            stack.close()
            daemon.end_everything()


async def assert_readable(client: Client, works: Talk, asks: Talk, request_id: str) -> None:
    listed = {one.id: one for one in (await client.list_sessions()).sessions}
    assert set(listed) == {works.session_id, asks.session_id}
    history = Talk(client, works.session_id)
    seen = await history.until(lambda event: event.text_delta.text == "waiting")
    assert "before" in "".join(event.text_delta.text for event in seen)
    assert [one.request_id for one in await client.pending()] == [request_id]


async def assert_refused(daemon: Daemon, works: Talk) -> None:
    """New input, by the call itself: a client of ours would try again until it is accepted."""
    said = v1.AgentRequest(message=v1.UserMessage(content="say too early"))
    async with daemon.agent_service() as agent:
        with pytest.raises(grpc.RpcError) as refused:
            await agent.Submit(v1.SubmitRequest(session_id=works.session_id, request=said), timeout=20)
    assert isinstance(refused.value, grpc.aio.AioRpcError)
    assert refused.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    sentence = str(refused.value.details())
    assert "can only be read" in sentence or "cannot be written" in sentence


def status(daemon: Daemon) -> str:
    paths = daemon.paths
    argv = [sys.executable, "-m", "betcode", "daemon", "status", "--state-dir", str(paths.state_dir)]
    argv += ["--config-dir", str(paths.config_dir)]
    done = subprocess.run(argv, env=daemon.environment, capture_output=True, text=True, timeout=PATIENCE_S)
    return done.stdout
