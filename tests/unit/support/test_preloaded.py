"""Forked daemons and commands behave like those of a new interpreter."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from betcode.holder.platform import RUN_MARKER
from support.processes.preloaded import can_fork, run, start

COMMAND = [sys.executable, "-m", "betcode"]
ENVIRONMENT = {"PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "LANG": "C.UTF-8"}


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
