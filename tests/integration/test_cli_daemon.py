"""`betcode daemon`: start, stop and status of a real daemon."""

import json
import os
import signal
import stat
import subprocess
from pathlib import Path

import pytest

from betcode.config.lockfile import LockOwner, hold_lock, is_held, read_holder
from support.patience import PATIENCE_S
from support.processes.command import Shell, shell


@pytest.mark.behaviour("transport.daemon-start")
def test_start_returns_when_it_serves_and_stop_when_it_is_gone(tmp_path: Path) -> None:
    with shell(tmp_path) as here:
        assert here.run("daemon", "status").returncode == 2
        started = here.json("daemon", "start", "--json")
        assert started["started"] is True
        status = here.json("daemon", "status", "--json")
        assert (status["running"], status["serving"], status["pid"]) == (True, True, started["pid"])
        assert status["socket"] == str(here.paths.socket)
        again = here.json("daemon", "start", "--json")
        assert again == {"started": False, "pid": started["pid"], "socket": str(here.paths.socket)}
        assert here.json("daemon", "stop", "--json") == {"stopped": True, "pid": started["pid"]}
        assert not is_held(here.paths.lock)
        assert here.json("daemon", "stop", "--json") == {"stopped": False, "pid": 0}


@pytest.mark.behaviour("transport.unix.socket", "transport.unix.fallback", "obey.socket")
@pytest.mark.parametrize("has_runtime_directory", [True, False])
def test_the_daemon_listens_on_the_socket_that_commands_use(tmp_path: Path, has_runtime_directory: bool) -> None:
    runtime = tmp_path / "r"
    if has_runtime_directory:
        runtime.mkdir(mode=0o700)
    with shell(tmp_path) as here:
        here.environment = {
            name: value for name, value in here.environment.items() if not name.startswith("BETCODE_")
        } | {"XDG_RUNTIME_DIR": str(runtime)}
        config = Path(here.environment["HOME"]) / ".config" / "betcode"
        expected = (runtime / "betcode" if has_runtime_directory else config) / "daemon.sock"
        state = Path(here.environment["HOME"]) / ".local" / "state" / "betcode"
        expected_obey = runtime / "obey" / "daemon.sock" if has_runtime_directory else state / "obey.sock"
        try:
            assert here.json("daemon", "start", "--json")["socket"] == str(expected)
            assert expected.is_socket()
            assert expected_obey.is_socket()
            assert stat.S_IMODE(expected.stat().st_mode) == 0o600
            assert stat.S_IMODE(expected.parent.stat().st_mode) == 0o700
            assert here.run("session", "list").returncode == 0
        finally:
            here.run("daemon", "stop")


def test_status_is_readable(tmp_path: Path) -> None:
    with shell(tmp_path) as here:
        assert "No daemon is running" in here.run("daemon", "status").stdout
        here.run("daemon", "start")
        lines = here.run("daemon", "status").stdout
        assert lines.startswith("Daemon: SERVING\n  subprocess_pool: SERVING (0/5 slots used)\n  sqlite: SERVING\n")
        for word in ("Uptime: ", "Version: ", "pid ", "Socket: ", "local_server: SERVING"):
            assert word in lines


def test_commands_at_the_same_moment_start_one_daemon(tmp_path: Path) -> None:
    with shell(tmp_path) as here:
        starters = [
            subprocess.Popen(
                here.argv("daemon", "start", "--json"),
                env=here.environment,
                cwd=here.work,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
            for _ in range(4)
        ]
        ended = [starter.communicate(timeout=PATIENCE_S) for starter in starters]
        assert [starter.returncode for starter in starters] == [0] * 4, [errors for _, errors in ended]
        holder = read_holder(here.paths.lock)
        assert holder is not None
        assert {json.loads(out)["pid"] for out, _ in ended} == {holder.pid}


def test_a_slow_daemon_is_waited_for_and_never_replaced(tmp_path: Path) -> None:
    with shell(tmp_path) as here:
        pid = here.json("daemon", "start", "--json")["pid"]
        os.kill(pid, signal.SIGSTOP)
        with subprocess.Popen(
            here.argv("session", "list", "--json"),
            env=here.environment | {"BETCODE_DEBUG": "1"},
            cwd=here.work,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as waiting:
            status = here.run("daemon", "status")
            assert status.returncode == 2
            assert "running but does not answer" in status.stdout
            assert waiting.poll() is None
            os.kill(pid, signal.SIGCONT)
            out, errors = waiting.communicate(timeout=PATIENCE_S)
        assert waiting.returncode == 0, errors
        assert "Starting" not in errors
        assert json.loads(out)["total"] == 0
        assert here.json("daemon", "status", "--json")["pid"] == pid


def test_a_daemon_that_is_about_to_be_gone_is_waited_for_and_another_started(tmp_path: Path) -> None:
    with shell(tmp_path) as here:
        here.paths.state_dir.mkdir(parents=True, exist_ok=True)
        leaving = LockOwner(pid=os.getpid(), started="", socket=str(here.paths.socket), version="")
        with hold_lock(here.paths.lock, leaving):
            starting = subprocess.Popen(
                here.argv("daemon", "start"),
                env=here.environment,
                cwd=here.work,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
            )
            assert starting.stderr is not None
            first = starting.stderr.readline()
        _, errors = starting.communicate(timeout=PATIENCE_S)
        assert "to become ready" in first
        assert starting.returncode == 0, errors
        assert here.json("daemon", "status", "--json")["serving"] is True


def test_a_daemon_that_ends_at_once_says_why(tmp_path: Path) -> None:
    (tmp_path / "token").mkdir()  # no file
    told = {"listen": "127.0.0.1:0", "token_file": str(tmp_path / "token")}
    with shell(tmp_path, settings={"daemon": told}) as here:
        done = here.run("daemon", "start")
        assert done.returncode == 2, done.stderr
        assert "daemon.token_file" in done.stderr
        assert "Traceback" not in done.stderr


def test_run_in_the_foreground_serves_until_it_is_stopped(tmp_path: Path) -> None:
    with (
        shell(tmp_path) as here,
        subprocess.Popen(
            here.argv("daemon", "run"), env=here.environment, stderr=subprocess.PIPE, text=True
        ) as foreground,
    ):
        assert foreground.stderr is not None
        assert next(line for line in foreground.stderr if "serving" in line)
        assert here.json("daemon", "start", "--json")["pid"] == _holder(here)
        here.run("daemon", "stop")
        assert foreground.wait(PATIENCE_S) == 0


def test_another_socket_of_the_same_state_is_named(tmp_path: Path) -> None:
    with shell(tmp_path) as here:
        here.run("daemon", "start")
        done = here.run("session", "list", "--socket", str(tmp_path / "other.sock"))
        assert done.returncode == 2
        assert f"--socket {here.paths.socket}" in done.stderr


def test_a_daemon_killed_under_a_waiting_command_is_found_again(tmp_path: Path) -> None:
    with shell(tmp_path) as here:
        pid = here.json("daemon", "start", "--json")["pid"]
        with subprocess.Popen(
            here.argv("run", "wait go\nsay done"),
            env=here.environment,
            cwd=here.work,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as running:
            assert running.stdout is not None
            assert running.stdout.read(len("waiting")) == "waiting"
            os.kill(pid, signal.SIGKILL)
            here.run("daemon", "start")
            (here.work / "go").touch()
            out, errors = running.communicate(timeout=PATIENCE_S)
        assert running.returncode == 0, errors
        assert out == "done\n"
        assert "reconnecting" in errors
        assert "Reconnected" in errors


def _holder(here: Shell) -> int:
    holder = read_holder(here.paths.lock)
    return holder.pid if holder else 0


def test_a_daemon_of_another_version_is_mentioned(tmp_path: Path) -> None:
    with shell(tmp_path) as here:
        assert "To update it" not in here.run("daemon", "start").stderr
        said = json.loads(here.paths.lock.read_text())
        here.paths.lock.write_text(json.dumps(said | {"version": "0.0.1"}))
        again = here.run("daemon", "start")
        assert again.returncode == 0
        assert f"The daemon (pid {said['pid']}) is betcode 0.0.1, and this is {said['version']}" in again.stderr
        assert here.run("session", "list").stderr == ""  # scripts are not told
