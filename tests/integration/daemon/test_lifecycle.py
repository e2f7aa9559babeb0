"""The daemon as a process: how it starts, who may start it, how it ends."""

import json
import os
import re
import signal
import socket
import stat
from pathlib import Path

import pytest

from betcode.config.lockfile import LockOwner, hold_lock, is_held, read_holder
from betcode.config.paths import choose_paths
from betcode.v1 import agent_pb2 as v1
from support.daemon.process import Daemon, becomes_true, obedient_daemon, running_daemon
from support.daemon.stream import conversation, finished_session, history, is_idle, text_of
from support.patience import PATIENCE_S

pytestmark = pytest.mark.anyio


async def ended_with(daemon: Daemon) -> tuple[int, str]:
    """The exit code of a daemon that refuses to start, and what it said."""
    daemon.launch()
    return await daemon.ended(), daemon.stderr.strip()


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


async def test_everything_of_a_daemon_is_private(tmp_path: Path) -> None:
    async with obedient_daemon(tmp_path) as daemon:
        async with daemon.agent_service() as agent:
            await finished_session(agent, str(daemon.work))
        assert mode(daemon.paths.state_dir) == 0o700
        assert mode(daemon.paths.socket) == mode(daemon.paths.ticket_socket) == 0o600
        for path in daemon.paths.state_dir.rglob("*"):
            wanted = 0o700 if path.is_dir() else 0o600
            assert mode(path) & 0o077 == 0, path
            assert mode(path) & wanted == mode(path), path


async def test_an_unusable_state_directory_is_reported_in_one_sentence(tmp_path: Path) -> None:
    daemon = Daemon(tmp_path)
    daemon.paths.state_dir.mkdir()
    (daemon.paths.runs / "of-another").mkdir(parents=True)
    daemon.paths.runs.chmod(0o777)
    code, said = await ended_with(daemon)
    assert code == 1
    assert said.startswith("The state directory cannot be used")
    assert "\n" not in said


async def test_nothing_listens_on_tcp(tmp_path: Path) -> None:
    async with running_daemon(tmp_path) as daemon:
        inodes = set()
        for table in ("tcp", "tcp6"):
            lines = Path(f"/proc/{daemon.pid}/net/{table}").read_text().splitlines()[1:]
            inodes |= {line.split()[9] for line in lines if line.split()[3] == "0A"}
        mine = {str(path.readlink()) for path in Path(f"/proc/{daemon.pid}/fd").iterdir() if path.is_symlink()}
        assert not [inode for inode in inodes if f"socket:[{inode}]" in mine]


async def test_a_second_daemon_reports_the_pid_of_the_first(tmp_path: Path) -> None:
    async with running_daemon(tmp_path) as daemon:
        holder = read_holder(daemon.paths.lock)
        assert holder is not None
        assert holder.pid == daemon.pid
        assert holder.socket == str(daemon.paths.socket)
        second = Daemon(tmp_path)
        code, said = await ended_with(second)
        assert code == 1
        assert str(daemon.pid) in said
        assert holder.started in said
        assert len(said.splitlines()[-1:]) == 1
        assert "Traceback" not in said
        async with daemon.agent_service() as agent:
            await agent.ListSessions(v1.ListSessionsRequest())
    assert not is_held(daemon.paths.lock)


async def test_of_two_daemons_started_at_once_one_serves(tmp_path: Path) -> None:
    daemons = [Daemon(tmp_path) for _ in range(4)]
    try:
        processes = [daemon.launch() for daemon in daemons]
        await becomes_true(lambda: sum(process.poll() is not None for process in processes) == 3)
        (winner,) = [process for process in processes if process.returncode is None]
        assert [process.returncode for process in processes if process is not winner] == [1, 1, 1]
        holder = read_holder(daemons[0].paths.lock)
        assert holder is not None
        assert holder.pid == winner.pid
        async with daemons[0].agent_service() as agent:
            await agent.ListSessions(v1.ListSessionsRequest(), wait_for_ready=True, timeout=PATIENCE_S)
    finally:
        for daemon in daemons:
            daemon.end_everything()


async def test_two_state_directories_cannot_share_a_socket(tmp_path: Path) -> None:
    async with running_daemon(tmp_path / "one") as daemon:
        other = Daemon(tmp_path / "two", environment={"BETCODE_SOCKET": str(daemon.paths.socket)})
        other.paths = choose_paths({}, state_dir=tmp_path / "two" / "state", socket=daemon.paths.socket)
        code, said = await ended_with(other)
        assert code == 1
        assert str(daemon.paths.socket) in said
        async with daemon.agent_service() as agent:
            await agent.ListSessions(v1.ListSessionsRequest())


async def test_a_killed_daemon_leaves_a_socket_that_the_next_one_replaces(tmp_path: Path) -> None:
    async with running_daemon(tmp_path) as daemon:
        daemon.kill()
        assert daemon.paths.socket.exists()
        assert not is_held(daemon.paths.lock)
        await daemon.start()
        assert await daemon.stop() == 0
        assert not daemon.paths.socket.exists()


@pytest.mark.behaviour("lifecycle.daemon.start-order")
async def test_a_wrong_setting_is_found_before_anything_is_touched(tmp_path: Path) -> None:
    daemon = Daemon(tmp_path, settings={"agents": {"turn_limit": "many"}})
    code, said = await ended_with(daemon)
    assert code == 5
    assert said.count("\n") == 0
    assert "agents.turn_limit" in said
    assert not daemon.paths.state_dir.exists()


@pytest.mark.behaviour("lifecycle.daemon.start-order", "storage.migrations")
async def test_a_store_that_cannot_be_opened_means_no_server(tmp_path: Path) -> None:
    daemon = Daemon(tmp_path)
    daemon.paths.state_dir.mkdir(parents=True)
    daemon.paths.database.write_bytes(b"this is no database" * 1000)
    code, said = await ended_with(daemon)
    assert code == 1
    assert "cannot serve" in said
    assert "Traceback" not in said
    assert "listening" not in daemon.log
    assert not daemon.paths.socket.exists()
    assert not is_held(daemon.paths.lock)


@pytest.mark.behaviour("lifecycle.daemon.start-order")
async def test_sessions_are_restored_before_anyone_can_ask(tmp_path: Path) -> None:
    async with obedient_daemon(tmp_path) as daemon:
        async with daemon.agent_service() as agent, conversation(agent, working_directory=str(daemon.work)) as stream:
            await stream.say("wait go")
            await stream.until(lambda event: event.text_delta.text == "waiting")
        await daemon.restart()
        targets = [json.loads(line)["target"] for line in daemon.log.splitlines()]
        last_start = targets[len(targets) - targets[::-1].index("betcode.engine.maintenance.adoption") - 1 :]
        assert last_start.index("betcode.engine.maintenance.adoption") < last_start.index("betcode.server.server")
        async with daemon.agent_service() as agent:
            (summary,) = (await agent.ListSessions(v1.ListSessionsRequest())).sessions
            assert (summary.status, summary.run_state) == ("active", "running")


async def test_an_unknown_setting_is_a_warning_in_the_log(tmp_path: Path) -> None:
    async with running_daemon(tmp_path, settings={"agents": {"turn_limt": 3}}) as daemon:
        lines = [json.loads(line) for line in daemon.log.splitlines()]
        (warning,) = [line for line in lines if line["level"] == "warn"]
        assert "agents.turn_limt" in warning["message"]


@pytest.mark.behaviour("lifecycle.daemon.spawn-on-demand")
async def test_a_daemon_with_idle_sessions_has_no_agent(tmp_path: Path) -> None:
    async with obedient_daemon(tmp_path, settings={"agents": {"idle_retire": "50ms"}}) as daemon:
        async with daemon.agent_service() as agent:
            session_id = await finished_session(agent, str(daemon.work))
            await becomes_true(lambda: [one.pid for one in daemon.processes()] == [daemon.pid])
        await daemon.restart()
        await becomes_true(lambda: [one.pid for one in daemon.processes()] == [daemon.pid])
        async with daemon.agent_service() as agent:
            assert text_of(await history(agent, session_id, is_idle)) == "one two three"
        await becomes_true(lambda: [one.pid for one in daemon.processes()] == [daemon.pid])
        assert len(daemon.agent_pids) == 1, "no other agent was started meanwhile"


@pytest.mark.behaviour("lifecycle.daemon.background-service")
async def test_the_daemon_outlives_terminal_and_clients(tmp_path: Path) -> None:
    async with obedient_daemon(tmp_path) as daemon:
        async with daemon.agent_service() as agent, conversation(agent, working_directory=str(daemon.work)) as stream:
            await stream.say("wait go\nsay done")
            await stream.until(lambda event: event.text_delta.text == "waiting")
            session_id = stream.session_id
        os.kill(daemon.pid, signal.SIGHUP)
        (daemon.work / "go").touch()
        async with daemon.agent_service() as agent:
            assert text_of(await history(agent, session_id, is_idle)).endswith("done")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_ends_it_cleanly_and_leaves_agents_alone(tmp_path: Path, number: signal.Signals) -> None:
    async with obedient_daemon(tmp_path) as daemon:
        async with daemon.agent_service() as agent, conversation(agent, working_directory=str(daemon.work)) as stream:
            await stream.say("wait go")
            await stream.until(lambda event: event.text_delta.text == "waiting")
            os.kill(daemon.pid, number)
            assert await daemon.ended() == 0
        assert json.loads(daemon.log.splitlines()[-1])["message"] == "stopped"
        assert Path(f"/proc/{daemon.agent_pids[0]}").exists()


async def test_wrong_arguments_are_one_sentence_and_exit_code_5(tmp_path: Path) -> None:
    daemon = Daemon(tmp_path)
    daemon.launch(argv=[*daemon.argv, "--sockets", "x"])
    assert await daemon.ended() == 5
    assert daemon.stderr.count("\n") == 1
    assert "--sockets" in daemon.stderr


async def test_the_paths_may_come_from_the_environment(tmp_path: Path) -> None:
    daemon = Daemon(tmp_path)
    environ = {
        "BETCODE_STATE_DIR": str(tmp_path / "elsewhere"),
        "BETCODE_SOCKET": str(tmp_path / "elsewhere" / "s.sock"),
        "BETCODE_CONFIG_DIR": str(daemon.paths.config_dir),
    }
    daemon.paths = choose_paths(environ)
    daemon.launch(argv=daemon.argv[:3], **environ)
    try:
        async with daemon.agent_service() as agent:
            await agent.ListSessions(v1.ListSessionsRequest(), wait_for_ready=True, timeout=PATIENCE_S)
    finally:
        assert await daemon.stop() == 0


@pytest.mark.behaviour("transport.unix.socket", "transport.unix.fallback")
async def test_the_usual_socket_is_in_the_runtime_directory_or_else_in_the_config_directory(tmp_path: Path) -> None:
    runtime = tmp_path / "run"
    runtime.mkdir(mode=0o700)
    environments = {
        runtime / "betcode" / "daemon.sock": {"XDG_RUNTIME_DIR": str(runtime)},
        tmp_path / "home" / ".config" / "betcode" / "daemon.sock": {"XDG_RUNTIME_DIR": str(tmp_path / "missing")},
    }
    daemon = Daemon(tmp_path)
    for path, more in environments.items():
        environment = daemon.environment | more
        daemon.paths = choose_paths(environment)
        assert daemon.paths.socket == path
        daemon.launch(argv=daemon.argv[:3], **more)
        try:
            async with daemon.agent_service() as agent:
                await agent.ListSessions(v1.ListSessionsRequest(), wait_for_ready=True, timeout=PATIENCE_S)
            assert mode(path.parent) == 0o700
            assert mode(path) == 0o600
        finally:
            assert await daemon.stop() == 0


@pytest.mark.behaviour("transport.unix.socket")
def test_without_a_variable_the_runtime_directory_is_that_of_the_user() -> None:
    if not os.access(f"/run/user/{os.getuid()}", os.W_OK):
        pytest.skip("this machine has no runtime directory for this user")
    paths = choose_paths({"HOME": "/home/somebody"})
    assert str(paths.socket) == f"/run/user/{os.getuid()}/betcode/daemon.sock"


def is_listened_at(path: Path) -> bool:
    """A socket's file is there before anybody listens."""
    with socket.socket(socket.AF_UNIX) as client:
        return client.connect_ex(str(path)) == 0


async def test_a_socket_path_too_long_for_the_system_still_serves(tmp_path: Path) -> None:
    deep = tmp_path / ("long" * 25) / ("longer" * 10)
    deep.mkdir(parents=True)
    daemon = Daemon(tmp_path)
    daemon.paths = choose_paths({}, state_dir=tmp_path / "state", socket=deep / "daemon.sock")
    assert len(str(daemon.paths.socket)) > 108
    process = daemon.launch()
    try:
        short = tmp_path / "short"
        short.symlink_to(deep)
        await becomes_true(lambda: is_listened_at(short / "daemon.sock.ticket") or process.poll() is not None)
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(short / "daemon.sock.ticket"))
            assert client.makefile().readline().startswith("ticket ")
        daemon.paths = choose_paths({}, state_dir=tmp_path / "state", socket=short / "daemon.sock")
        async with daemon.agent_service() as agent:
            await agent.ListSessions(v1.ListSessionsRequest(), wait_for_ready=True, timeout=PATIENCE_S)
        assert await daemon.stop() == 0
        assert not list(deep.glob("*.sock"))
    finally:
        daemon.end_everything()


async def test_a_held_lock_without_a_pid_is_respected(tmp_path: Path) -> None:
    daemon = Daemon(tmp_path)
    daemon.paths.state_dir.mkdir(parents=True)
    with hold_lock(daemon.paths.lock, LockOwner(1, "then", "s", "v")):
        daemon.paths.lock.write_text("")
        code, said = await ended_with(daemon)
    assert code == 1
    assert re.search("[Aa]nother daemon", said)
