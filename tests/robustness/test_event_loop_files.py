"""The event loop makes no call that waits for a disk, another process or a name server."""

import os
import re
import signal
from contextlib import aclosing
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from betcode.client import Client, NewConversation, NewWorktree, SessionKind, open_client
from betcode.domain.agents.commands import AttachedFile
from betcode.v1 import admin_pb2 as admin
from betcode.v1 import agent_pb2 as v1
from support.daemon.loop_record import Allowed, recorded_calls, recording_environment
from support.daemon.metrics import metrics_port, scraped_text
from support.daemon.process import Daemon, agent_program
from support.daemon.session import Talk, is_idle
from support.git.repositories import make_repository
from support.git.worktree_commands import SCRIPT
from support.obey.daemon import Obeyed, add_campaign, obey_stub
from support.patience import PATIENCE_S
from support.providers.claude_world import demo_talk, obedient_talk
from support.rules.files import write_rules

pytestmark = pytest.mark.anyio

_OF_A_PROCESS = re.compile(r"/proc/\d+/(stat|statm)")
# Each entry says why its calls cannot wait for a file that a user or an agent controls, and are short.
ALLOWED: Allowed = {
    "modules of the installation, imported at their first use": lambda call: call.is_below("<frozen importlib"),
    "source lines of the installation, for a traceback": lambda call: call.is_below("linecache.py"),
    "the kernel's record of one process, which is in memory": lambda call: bool(_OF_A_PROCESS.fullmatch(call.subject)),
    "rm, which is started at the root directory": lambda call: call.is_below("worktrees/remove/delete_directory.py"),
}


def waits(event: v1.AgentEvent) -> bool:
    return event.text_delta.text == "waiting"


async def test_no_call_of_a_daemons_life_may_block_the_event_loop(tmp_path: Path) -> None:
    record = tmp_path / "loop-calls"
    environment = recording_environment(record)
    settings = {"observability": {"metrics_enabled": True, "metrics_port": 0}}
    daemon = Daemon(tmp_path, settings=settings, claude_bin=agent_program(tmp_path))
    campaign = add_campaign(tmp_path / "home", daemon.work, "shop")
    try:
        await daemon.start(**environment)
        async with open_client(daemon.paths) as client:
            works, asks = await obedient_talk(daemon, client), await obedient_talk(daemon, client)
            await works.say("say before\nwait go\nsay after")
            await works.until(waits)
            await asks.say("tool\nsay done")
            asked = await asks.asked()
        daemon.kill()
        await daemon.start(**environment)
        async with open_client(daemon.paths) as client:
            works.client = asks.client = client
            (daemon.work / "go").touch()
            await works.until(is_idle)
            await asks.answer(asked, allow=True)
            await asks.until(is_idle)
            await live(daemon, client, works)
            await use_worktrees(tmp_path, client)
            await use_obey(daemon, campaign)
            await ask_everything(daemon, client, works.session_id)
            await change_settings(daemon, client, works)
            await client.stop_daemon(daemon.pid, admin.AGENTS_AT_STOP_ALL_END)
        assert await daemon.ended() == 0
    finally:
        daemon.end_everything()
    calls = recorded_calls(record, ALLOWED)
    assert not calls, f"{len(calls)} calls:\n" + "\n".join(map(str, calls))


async def live(daemon: Daemon, client: Client, talk: Talk) -> None:
    """Turns, a cancel, a denial, an agent that is killed in its turn, a fork and a deletion."""
    await talk.turn("count 200 100")
    await client.send(talk.session_id, "say with a file", [AttachedFile("notes.txt", "text/plain", b"notes")])
    await talk.until(is_idle)
    await talk.say("say begun\nwait never")
    await talk.until(waits)
    await client.cancel(talk.session_id)
    await talk.until(is_idle)
    await talk.say("tool\nsay done")
    await talk.answer(await talk.asked(), allow=False)
    await talk.until(is_idle)
    await talk.say("stumble stone\nsay up again")
    await talk.until(is_idle)
    os.kill(daemon.agent_pids[-1], signal.SIGKILL)
    await talk.summary_when(lambda summary: summary.run_state == "exited")
    await talk.turn("say again")
    demo = await demo_talk(daemon, client, speed=0)
    await demo.turn("hello")
    fork = await client.fork(talk.session_id)
    await client.close(fork.session_id)
    await client.delete(fork.session_id)
    await client.compact(talk.session_id)


async def use_worktrees(root: Path, client: Client) -> None:
    shop = make_repository(root / "shop", {SCRIPT: "#!/bin/sh\necho ready\n"})
    await client.policy.trust(str(shop), trusted=True)
    made = await client.worktrees.create(NewWorktree(str(shop), "fix", create_branch=True))
    switched = await client.worktrees.switch(made.id, SessionKind(provider="demo"))
    await Talk(client, switched.session_id).turn("hello")
    await client.start_session(NewConversation(str(shop), provider="demo", in_active_worktree=True))
    (Path(made.path) / "new").write_text("1")
    await client.worktrees.inspect(made.id)
    async with aclosing(client.worktrees.report(str(shop))) as reports:
        _ = [one async for one in reports]
    async with aclosing(client.diffs.of_session(switched.session_id)) as chunks:
        _ = [one async for one in chunks]
    done = await client.worktrees.remove(made.id, force=True)
    await client.worktrees.restore(str(shop), done.removed_id)


async def use_obey(daemon: Daemon, campaign: str) -> None:
    async with obey_stub(daemon.paths.obey_socket) as stub:
        it = Obeyed(daemon, campaign, stub)
        info = await it.create()
        await it.send(info.id, "hello")
        await it.listed()
        await it.restart(info.id)
        await it.stop(info.id)


async def change_settings(daemon: Daemon, client: Client, talk: Talk) -> None:
    """Settings that the daemon writes, settings that somebody else wrote, and a rule that allows a tool."""
    await client.config.change({"agents.turn_limit": "4"})
    write_rules(daemon.work / ".claude" / "settings.json", allow=["Bash(touch *)"])
    await client.policy.trust(str(daemon.work), trusted=True)
    await talk.turn("tool\nsay done")
    daemon.reload({"agents": {"turn_limit": 3}})
    with anyio.fail_after(PATIENCE_S):
        while (await client.health()).metadata["turn_limit"] != "3":  # noqa: ASYNC110
            await anyio.sleep(0.01)


async def ask_everything(daemon: Daemon, client: Client, session_id: str) -> None:
    """What is read: exports, settings, rules, health, providers, pending prompts, project content."""
    for file_format in ("json", "markdown", "html"):
        async with aclosing(client.export(session_id, file_format)) as pieces:
            _ = [piece async for piece in pieces]
    await client.config.settings(working_directory=str(daemon.work))
    await client.config.permissions(session_id=session_id)
    await client.policy.inspect(session_id=session_id)
    await client.policy.trusted()
    await client.providers("", daemon.environment)
    await client.pending()
    await client.grants.list(session_id)
    await client.search("again")
    await client.config.mcp_servers()
    await anyio.to_thread.run_sync(scraped_text, metrics_port(daemon))
    await client.health()
