"""`daemon.log` that is no regular file: the daemon starts, logs to stderr and reports it."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from support.daemon.process import Daemon, agent_program, becomes_true
from support.processes.command import Shell, shell

pytestmark = pytest.mark.anyio


def symlink(path: Path) -> None:
    path.with_name("target").write_text("not a log\n")
    path.symlink_to("target")


ENTRIES: dict[str, Callable[[Path], None]] = {
    "a symbolic link": symlink,
    "a FIFO": os.mkfifo,
    "a directory": Path.mkdir,
}


def put(entry: str, log: Path) -> None:
    log.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    ENTRIES[entry](log)


@pytest.mark.parametrize("entry", ENTRIES)
async def test_a_daemon_whose_log_is_no_regular_file_serves_and_reports_it(tmp_path: Path, entry: str) -> None:
    daemon = Daemon(tmp_path, claude_bin=agent_program(tmp_path))
    log = daemon.paths.daemon_log
    put(entry, log)
    mode = log.lstat().st_mode
    try:
        await daemon.start()
        problem = f"`daemon.log` is {entry}, not a regular file"
        await becomes_true(lambda: problem in daemon.stderr)
        await becomes_true(lambda: '"message": "serving"' in daemon.stderr)  # the log is on stderr
        assert await daemon.stop() == 0
    finally:
        daemon.end_everything()
    assert log.lstat().st_mode == mode
    if log.is_symlink():
        assert log.read_text() == "not a log\n"


@pytest.mark.parametrize("entry", ENTRIES)
def test_a_command_starts_a_daemon_whose_log_is_no_regular_file_and_status_reports_it(
    tmp_path: Path, entry: str
) -> None:
    with shell(tmp_path) as commands:
        put(entry, commands.paths.daemon_log)
        started = commands.run("daemon", "start")
        assert started.returncode == 0, started.stderr
        assert f"Log: `daemon.log` is {entry}, not a regular file" in commands.run("daemon", "status").stdout
        assert_logs_end(commands, entry)
        assert commands.run("daemon", "stop").returncode == 0


def assert_logs_end(commands: Shell, entry: str) -> None:
    """The command that reads the log does not wait for a FIFO."""
    shown = commands.run("daemon", "logs")
    if entry != "a symbolic link":
        assert shown.returncode == 7
        assert "it is not a regular file" in shown.stderr
