"""A daemon whose sessions meet internal errors: it serves on, says which session failed, and starts again."""

import os
import signal
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

import anyio.to_thread
import pytest

from betcode.client import Client, NewConversation, open_client
from betcode.domain.values.identifiers import new_session_id
from betcode.engine.fault_points import FaultPoint
from betcode.v1 import agent_pb2 as v1
from support.daemon.process import Daemon, agent_program, becomes_true
from support.daemon.session import Talk, is_idle, settled_text
from support.processes.command import Shell

pytestmark = pytest.mark.anyio

SETTINGS = {"agents": {"hang_after": "2s"}}


@dataclass
class Faulty:
    """A session that meets an error at one place."""

    place: FaultPoint
    provoke: Callable[[Talk, Path], Awaitable[None]]
    session: str
    work: Path


async def begins(talk: Talk, prompt: str) -> None:
    await talk.say(prompt)
    await talk.until("text_delta")


async def dies(talk: Talk, _: Path) -> None:
    await talk.say("die")


async def is_killed(talk: Talk, work: Path) -> None:
    await begins(talk, "say hello\nbeat go")
    os.kill(int((work / "agent.pids").read_text().split()[-1]), signal.SIGKILL)


async def ignores_a_cancel(talk: Talk, _: Path) -> None:
    await begins(talk, "deaf\nsay hello\nbeat go")
    await talk.client.cancel(talk.session_id)


async def hangs(talk: Talk, _: Path) -> None:
    await talk.say("wait go")


async def works(talk: Talk, _: Path) -> None:
    await talk.say("beat go")


async def has_begun(talk: Talk, _: Path) -> None:
    await begins(talk, "say hello\nbeat go")


async def is_closed(talk: Talk, _: Path) -> None:
    await begins(talk, "say hello\nbeat go")
    await talk.client.close(talk.session_id)


PLACES: dict[FaultPoint, Callable[[Talk, Path], Awaitable[None]]] = {
    FaultPoint.CLASSIFY_EXIT: dies,
    FaultPoint.RECOVERY_RESUME: is_killed,
    FaultPoint.CANCEL_STEP: ignores_a_cancel,
    FaultPoint.HANG_END: hangs,
    FaultPoint.CALL_SCREENING: works,
    FaultPoint.WIND_UP: is_closed,
    FaultPoint.ADOPT_INIT: has_begun,
}


async def started(daemon: Daemon, client: Client, work: Path, session: str = "") -> Talk:
    work.mkdir(exist_ok=True)
    new = NewConversation(str(work), provider="claude", environment=daemon.environment).start()
    new.new_session_id = session or new_session_id()
    async with daemon.agent_service() as agent:
        made = await agent.Submit(v1.SubmitRequest(request=v1.AgentRequest(start=new)))
    return Talk(client, made.session_id)


async def test_seven_sessions_fail_in_seven_ways_and_the_daemon_continues(tmp_path: Path) -> None:
    shell = Shell(tmp_path, settings=SETTINGS)
    daemon = Daemon(tmp_path, settings=SETTINGS, claude_bin=agent_program(tmp_path))
    faulty = [Faulty(place, provoke, new_session_id(), tmp_path / place) for place, provoke in PLACES.items()]
    faults = ";".join(f"raise:{each.place}@{each.session}" for each in faulty)
    try:
        await daemon.start(BETCODE_FAULT=faults)
        async with open_client(daemon.paths, sleep=daemon.until_it_serves) as client:
            healthy = await started(daemon, client, daemon.work)
            await healthy.say("beat go\nsay done")
            for each in faulty:
                talk = await started(daemon, client, each.work, each.session)
                await each.provoke(talk, each.work)
                if each.place is not FaultPoint.ADOPT_INIT:
                    await failed_for(talk, each)
            daemon.kill()
            await daemon.start(BETCODE_FAULT=faults)
            for each in faulty:
                await failed_for(Talk(client, each.session), each)
            (daemon.work / "go").touch()
            assert settled_text(await healthy.until(is_idle)).endswith("done")
            listed = {one["id"]: one for one in await run_json(shell, "session", "list", "--json")}
            assert all(f"betcode session delete {each.session}" in listed[each.session]["failure"] for each in faulty)
            shown = await anyio.to_thread.run_sync(shell.run, "session", "show", faulty[0].session)
            assert "An internal error stopped this session" in shown.stdout
            for each in faulty:
                deleted = await anyio.to_thread.run_sync(shell.run, "session", "delete", "--yes", each.session)
                assert deleted.returncode == 0, deleted.stderr
            assert [one["id"] for one in await run_json(shell, "session", "list", "--json")] == [healthy.session_id]
            daemon.kill()
            await daemon.start()
            assert settled_text(await healthy.turn("say again")) == "again"
            # The daemon, and a holder with the agent of the healthy session.
            await becomes_true(lambda: len(daemon.processes()) == 3)
    finally:
        daemon.end_everything()


async def failed_for(talk: Talk, each: Faulty) -> None:
    failure = (await talk.until(lambda event: event.error.code == "SESSION_FAILED"))[-1].error
    assert f"injected at {each.place}" in failure.message
    assert failure.is_fatal


async def run_json(shell: Shell, *arguments: str) -> list[dict[str, str]]:
    printed: dict[str, list[dict[str, str]]] = await anyio.to_thread.run_sync(lambda: shell.json(*arguments))
    return printed["sessions"]
