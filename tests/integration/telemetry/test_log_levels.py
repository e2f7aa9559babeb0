"""What a real daemon logs, at which level, and what it does not."""

import json
import logging
import os
import signal
import socket
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import apsw
import pytest

from betcode.client import open_client
from betcode.client.errors import Refused
from betcode.domain.runs.crash_policy import CrashPolicy
from betcode.telemetry import TRACE
from support.daemon.process import Daemon, becomes_true, obedient_daemon
from support.daemon.session import is_idle
from support.engine.engine import engine
from support.git.worktree_commands import repository_shell
from support.providers.claude_world import obedient_talk
from support.rules.files import project_rules, write_rules

pytestmark = pytest.mark.anyio

WORDS = "xyzzy-said-in-confidence"
RANK = {"trace": 0, "debug": 1, "info": 2, "warn": 3, "error": 4}


def entries(daemon: Daemon) -> list[dict[str, object]]:
    return [json.loads(line) for line in daemon.log.splitlines()]


def said_at(daemon: Daemon, level: str) -> list[str]:
    return [str(entry["message"]) for entry in entries(daemon) if entry["level"] == level]


@pytest.mark.behaviour(
    "log.json",
    "log.fields",
    "log.level.error",
    "log.level.warn",
    "log.level.info",
    "log.level.debug",
    "log.level.trace",
)
async def test_each_level_has_what_belongs_to_it_and_every_line_says_where_it_comes_from(tmp_path: Path) -> None:
    settings = {"daemon": {"log_level": "trace", "log_limit": "100MB"}}
    async with obedient_daemon(tmp_path, settings=settings) as daemon, open_client(daemon.paths) as client:
        talk = await obedient_talk(daemon, client)
        await talk.say(f"say {WORDS}\ntool")
        request = await talk.asked()
        await talk.answer(request, allow=False)
        await talk.until(is_idle)
        with pytest.raises(Refused):
            await talk.answer(request, allow=True)
        forked = (await client.fork(talk.session_id)).session_id
        write_rules(project_rules(daemon), deny=["Bash(touch *)"])
        await talk.turn("tool")
        await talk.say("stumble once\nsay again")
        await talk.until(is_idle)
        with closing(apsw.Connection(str(daemon.paths.database))) as other:
            other.execute("BEGIN IMMEDIATE")
            with suppress(Exception):
                await talk.say("say nothing")
            other.execute("ROLLBACK")
        await client.close(talk.session_id)
        assert await daemon.stop() == 0
    logged = entries(daemon)
    for entry in logged:
        assert {"timestamp", "level", "span", "target", "message"} <= set(entry), entry
        assert all(isinstance(entry[name], str) and entry[name] for name in ("timestamp", "level", "span", "target"))
        if str(entry["target"]).startswith("betcode.engine") and entry["span"] in ("turn", "agent.spawn"):
            assert entry["session_id"] == talk.session_id
    spans = {str(entry["span"]) for entry in logged}
    assert {"daemon", "turn", "turn.permission", "permission", "agent", "agent.spawn", "append"} <= spans
    assert "call.Submit" in spans
    assert [json.loads(line) for line in daemon.stderr.splitlines()] == logged

    errors = said_at(daemon, "error")
    assert any(line.startswith("the agent crashed") for line in errors)
    assert any(line.startswith("the database cannot be written") for line in errors)
    assert said_at(daemon, "warn").count("a use of a tool was denied") == 2
    denied = [entry["decision"] for entry in logged if entry["message"] == "a use of a tool was denied"]
    assert denied == ["user_deny", "auto_deny"]
    assert any(line.startswith("an answer came too late") for line in said_at(daemon, "warn"))
    told = said_at(daemon, "info")
    assert [entry["session_id"] for entry in logged if entry["message"] == "a session was forked"] == [forked]
    for line in ("a session was created", "a client connected", "a client disconnected", "a turn is over"):
        assert line in told
    assert "the session was closed" in told
    assert any(line.startswith("started an agent") for line in told)
    debug = said_at(daemon, "debug")
    assert any(line.startswith("records of the agent: ") for line in debug)
    assert any(line.startswith("rules and grants say: ") for line in debug)
    raw = [line for line in said_at(daemon, "trace") if WORDS in line]
    assert any(line.startswith("out {") for line in raw)
    assert any(line.startswith("in {") for line in raw)
    assert any(line.startswith("gRPC message in: ") for line in said_at(daemon, "trace"))
    assert any(line.startswith("gRPC message out: ") for line in said_at(daemon, "trace"))
    for entry in logged:
        if RANK[str(entry["level"])] > RANK["trace"]:
            assert "stream_event" not in json.dumps(entry)
        if RANK[str(entry["level"])] > RANK["debug"]:
            assert WORDS not in json.dumps(entry)


@pytest.mark.behaviour("log.level.info")
def test_worktree_operations_are_logged_as_information(tmp_path: Path) -> None:
    with repository_shell(tmp_path, {"README": "hello\n"}) as here:
        for arguments in (("create", "--new", "side"), ("switch", "side"), ("remove", "side")):
            assert here.run("worktree", *arguments).returncode == 0, arguments
        told = said_at(here.daemon, "info")
    for line in ("a worktree was made", "a worktree was removed"):
        assert line in told


@pytest.mark.behaviour("log.level.warn")
async def test_what_a_killed_daemon_left_is_a_warning_of_the_next(tmp_path: Path) -> None:
    async with obedient_daemon(tmp_path) as daemon, open_client(daemon.paths) as client:
        talk = await obedient_talk(daemon, client)
        await talk.say("wait go")
        await talk.until(lambda event: event.text_delta.text == "waiting")
        daemon.kill()
        os.kill(daemon.agent_pids[-1], signal.SIGKILL)
        for process in daemon.processes():
            with suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGKILL)
        with closing(apsw.Connection(str(daemon.paths.database))) as other:
            other.execute("UPDATE runs SET state = 'exited'")
            other.execute("UPDATE inputs SET state = 'consumed'")
        await daemon.start()
        assert any("idle now" in line for line in said_at(daemon, "warn"))


def connections_to_holders() -> Iterator[socket.socket]:
    """This process's own ends, as further descriptors of them."""
    for link in list(Path("/proc/self/fd").iterdir()):
        with suppress(OSError):
            if not str(link.readlink()).startswith("socket:"):
                continue
            end = socket.socket(fileno=os.dup(int(link.name)))
            with closing(end):
                if end.family == socket.AF_UNIX and end.getpeername():
                    yield end


@pytest.mark.behaviour("log.level.warn")
async def test_attaching_again_to_a_living_agent_is_a_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    async with engine(tmp_path, CrashPolicy()) as own:
        await own.say("wait go\nsay done")
        await own.until(lambda event: event.text_delta.text == "waiting")
        for end in connections_to_holders():
            end.shutdown(socket.SHUT_RDWR)
        await becomes_true(lambda: any("attaching again" in one.message for one in caplog.records))
        (own.work / "go").touch()
        await own.until(lambda event: event.HasField("turn_complete"))
        assert own.agents == 1
        await own.supervisor.close(own.session)
    (line,) = [one for one in caplog.records if "attaching again" in one.message]
    assert line.levelno == logging.WARNING
    assert vars(line)["session_id"] == own.session


async def test_the_log_is_where_the_settings_say_and_no_larger(tmp_path: Path) -> None:
    place = tmp_path / "logs" / "mine.log"
    place.parent.mkdir()
    settings = {"daemon": {"log_file": str(place), "log_limit": "64KiB", "log_keep": 2, "log_level": "trace"}}
    async with obedient_daemon(tmp_path, settings=settings) as daemon, open_client(daemon.paths) as client:
        talk = await obedient_talk(daemon, client)
        await talk.turn("count 1500 200")
        assert await daemon.stop() == 0
    assert not daemon.log
    files = sorted(place.parent.iterdir())
    assert [file.name for file in files] == ["mine.log", "mine.log.1", "mine.log.2"]
    assert all(file.stat().st_size <= 128 * 1024 for file in files)
    assert all(file.stat().st_mode & 0o077 == 0 for file in files)
    assert json.loads(place.read_text().splitlines()[-1])["message"] == "stopped"


async def test_a_place_that_cannot_hold_a_log_is_one_sentence(tmp_path: Path) -> None:
    settings = {"daemon": {"log_file": str(tmp_path / "nowhere" / "mine.log")}}
    daemon = Daemon(tmp_path, settings=settings)
    daemon.launch()
    assert await daemon.ended() == 5
    assert daemon.stderr.startswith("The log cannot be written: ")
    assert len(daemon.stderr.splitlines()) == 1


def test_trace_is_below_debug() -> None:
    assert TRACE < logging.DEBUG
