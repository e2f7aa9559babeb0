"""Forked daemons and commands behave like those of a new interpreter."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from betcode.config.lockfile import read_holder
from betcode.holder.platform import RUN_MARKER, command_line, process
from support.daemon.process import Daemon
from support.plugins.leftovers import leftovers
from support.processes.command import shell
from support.processes.preloaded import can_fork, run, start

COMMAND = [sys.executable, "-m", "betcode"]
ENVIRONMENT = {"PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "LANG": "C.UTF-8"}


def is_running(pid: int) -> bool:
    found = process(pid)
    return found is not None and not found.zombie


@pytest.mark.parametrize(
    ("argv", "more", "can"),
    [
        ([*COMMAND, "--version"], {}, True),
        ([sys.executable, "-m", "betcode.daemon"], {"BETCODE_FAULT": "after-answer:1"}, True),
        ([sys.executable, "-m", "betcode.holder"], {}, False),
        (["prlimit", "--nofile=64", *COMMAND], {}, False),
        (COMMAND, {"LANG": "C"}, False),
        (COMMAND, {"LC_ALL": "C"}, False),
        (COMMAND, {"PYTHONPATH": "/elsewhere"}, False),
        (COMMAND, {RUN_MARKER: "run-1"}, False),
    ],
)
def test_only_what_needs_no_start_of_an_interpreter_is_forked(argv: list[str], more: dict[str, str], can: bool) -> None:
    assert can_fork(argv, {**ENVIRONMENT, **more}) is can


@pytest.mark.parametrize("arguments", [["--version"], ["no-such-command"], ["config", "path"]])
def test_a_forked_command_does_what_a_new_interpreter_does(tmp_path: Path, arguments: list[str]) -> None:
    environment = {**ENVIRONMENT, "BETCODE_CONFIG_DIR": str(tmp_path)}
    argv = [*COMMAND, *arguments]
    forked = run(argv, environment, tmp_path)
    new = subprocess.run(argv, env=environment, cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert (forked.returncode, forked.stdout, forked.stderr) == (new.returncode, new.stdout, new.stderr)


def test_a_killed_process_has_the_signal_as_its_code(tmp_path: Path) -> None:
    argv = [sys.executable, "-m", "betcode.daemon", "--state-dir", str(tmp_path), "--config-dir", str(tmp_path)]
    null = os.open(os.devnull, os.O_RDWR)
    try:
        process = start(argv, ENVIRONMENT, tmp_path, (null, null, null), new_session=True)
    finally:
        os.close(null)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(0)
    assert Path(f"/proc/{process.pid}/cwd").readlink() == tmp_path
    process.kill()
    assert process.wait(60) == -signal.SIGKILL
    assert process.poll() == -signal.SIGKILL


def test_a_daemon_that_a_forked_command_starts_is_forked_with_its_own_command_line(tmp_path: Path) -> None:
    daemon = Daemon(tmp_path)
    state, config = str(daemon.paths.state_dir), str(daemon.paths.config_dir)
    environment = daemon.environment | {"BETCODE_STATE_DIR": state, "BETCODE_CONFIG_DIR": config}
    try:
        assert run([*COMMAND, "daemon", "start"], environment, tmp_path).returncode == 0
        holder = read_holder(daemon.paths.lock)
        assert holder is not None
        words = command_line(holder.pid).split()
        assert words[:6] == [sys.executable, "-P", "-m", "betcode.daemon", "--state-dir", state]
        found = process(holder.pid)
        assert found is not None
        assert "preload_server.py" in command_line(found.parent)
        assert run([*COMMAND, "daemon", "stop"], environment, tmp_path).returncode == 0
    finally:
        daemon.end_everything()
    assert not is_running(holder.pid)


def test_the_daemons_of_a_directory_are_found_though_they_work_elsewhere(tmp_path: Path) -> None:
    with shell(tmp_path) as commands:
        assert commands.run("daemon", "start").returncode == 0
        holder = read_holder(commands.paths.lock)
        assert holder is not None
        assert Path(f"/proc/{holder.pid}/cwd").readlink() == Path("/")
        assert holder.pid in leftovers(tmp_path)
    assert not is_running(holder.pid)
