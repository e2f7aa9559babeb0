"""A gateway that betcode starts: one for all, outliving every bridge, with its files in no project."""

import json
import os
import signal
import stat
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest

from betcode.client import Client, NewConversation, open_client
from betcode.client.errors import Refused
from support.apis.openclaw.memory import script
from support.apis.openclaw.process import free_port, openclaw_program
from support.daemon.process import Daemon, becomes_true, running_daemon
from support.daemon.runs import lives, runs_in
from support.daemon.session import Talk, settled_text

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
async def room(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[tuple[Daemon, Client]]:
    root = tmp_path_factory.mktemp("starting")
    settings = {"agents": {"openclaw": {"program": str(openclaw_program(root / "bin")), "port": free_port()}}}
    async with running_daemon(root, settings=settings) as daemon, open_client(daemon.paths) as client:
        try:
            yield daemon, client
        finally:
            for pid in _gateways(daemon):
                os.kill(pid, signal.SIGKILL)


async def _session(room: tuple[Daemon, Client], **config: str) -> Talk:
    daemon, client = room
    metadata = {f"provider_config.{key}": value for key, value in config.items()}
    new = NewConversation(str(daemon.work), provider="openclaw", metadata=metadata, environment=daemon.environment)
    return Talk(client, await client.start_session(new))


def _kept(daemon: Daemon) -> Path:
    return daemon.paths.state_dir / "agents" / "openclaw"


def _gateways(daemon: Daemon) -> list[int]:
    """Every process that is the stand-in with this daemon's configuration."""
    found = []
    wanted = f"OPENCLAW_CONFIG_PATH={_kept(daemon)}".encode()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and os.access(entry / "environ", os.R_OK) and lives(int(entry.name)):
            try:
                if wanted in (entry / "environ").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                continue  # it ended meanwhile
    return found


async def test_a_session_without_a_gateway_is_refused_with_what_to_do(room: tuple[Daemon, Client]) -> None:
    with pytest.raises(Refused, match="let betcode start one"):
        await _session(room)


async def test_two_that_come_at_once_have_one_gateway_and_no_bridge_ends_it(room: tuple[Daemon, Client]) -> None:
    daemon, _ = room
    first, second = await _session(room, start="true"), await _session(room, start="true")
    heard: list[str] = []

    async def ask(talk: Talk) -> None:
        heard.append(settled_text(await talk.turn(script({"text": "Here."}))))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(ask, first)
        tasks.start_soon(ask, second)
    assert heard == ["Here.", "Here."]
    known = json.loads((_kept(daemon) / "gateway.pid").read_text())
    assert _gateways(daemon) == [known["pid"]]
    bridges = [run.agent_pid for run in runs_in(daemon.paths.runs)]
    for pid in bridges:
        os.kill(pid, signal.SIGKILL)
    await becomes_true(lambda: not any(lives(pid) for pid in bridges))
    await becomes_true(lambda: not any(run.alive for run in runs_in(daemon.paths.runs)))
    assert settled_text(await first.turn(script({"text": "Again."}))) == "Again."
    assert _gateways(daemon) == [known["pid"]]
    assert list(daemon.work.iterdir()) == []


async def test_its_files_are_private_and_its_token_is_in_no_argument(room: tuple[Daemon, Client]) -> None:
    daemon, _ = room
    kept = _kept(daemon)
    token = (kept / "token").read_text().strip()
    assert len(token) >= 32
    for name in ("token", "openclaw.json", "gateway.log", "gateway.pid"):
        assert stat.S_IMODE((kept / name).stat().st_mode) == 0o600, name
    assert stat.S_IMODE(kept.stat().st_mode) == 0o700
    config = json.loads((kept / "openclaw.json").read_text())
    assert config["agents"]["defaults"]["skipBootstrap"] is True
    assert config["agents"]["defaults"]["workspace"] == str(kept / "workspace")
    assert config["gateway"]["bind"] == "loopback"
    for run in runs_in(daemon.paths.runs):
        assert token.encode() not in b"".join(record.data for record in run.records())
    for pid in _gateways(daemon):
        assert token.encode() not in Path(f"/proc/{pid}/cmdline").read_bytes()


async def test_a_gateway_that_cannot_start_is_reported_at_once(tmp_path: Path) -> None:
    program = tmp_path / "openclaw"
    program.write_text("#!/bin/sh\necho the configuration is wrong >&2\nexit 78\n")
    program.chmod(0o755)
    settings = {"agents": {"openclaw": {"program": str(program), "port": free_port(), "start": True}}}
    async with running_daemon(tmp_path / "d", settings=settings) as daemon, open_client(daemon.paths) as client:
        talk = await _session((daemon, client))
        await talk.say("Hello")
        events = await talk.until(lambda event: "the configuration is wrong" in str(event))
        assert "code 78" in str(events[-1])
