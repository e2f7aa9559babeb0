"""`betcode daemon logs` as people and scripts use it."""

import json
import logging
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from betcode.telemetry.logs import BoundedFile, JsonLines
from support.patience import PATIENCE_S
from support.processes.command import Shell, shell

ESCAPE = "\x1b[2J\x1b]0;mine\x07"


@pytest.fixture
def commands(tmp_path: Path) -> Iterator[Shell]:
    with shell(tmp_path) as started:
        yield started


def write_log(path: Path, *messages: str, level: str = "INFO", limit_bytes: int = 0, **extra: object) -> None:
    """Lines of the daemon's log, written as the daemon writes them."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handler = BoundedFile(path, limit_bytes, 5)
    handler.setFormatter(JsonLines())
    names = {"name": "betcode.x", "levelname": level, "levelno": logging.INFO}
    for message in messages:
        handler.emit(logging.makeLogRecord({"msg": message, **names, **extra}))
    handler.close()


def test_the_last_lines_are_shown_for_people_and_for_programs_without_a_daemon(commands: Shell) -> None:
    nothing = commands.run("daemon", "logs")
    assert (nothing.returncode, nothing.stdout) == (0, "")
    assert nothing.stderr.startswith("There is no log at ")
    path = commands.paths.daemon_log
    write_log(path, *(f"line {number}" for number in range(150)))
    forging = f"bad {ESCAPE}\n2026-01-01 00:00:00 ERROR forged"
    write_log(path, forging, level="WARN", session_id="0197aabbccdd", tool=ESCAPE)
    with commands.paths.daemon_log.open("a") as file:
        file.write(f"Fatal Python error {ESCAPE}\n")
    shown = commands.run("daemon", "logs")
    assert shown.returncode == 0, shown.stderr
    lines = shown.stdout.splitlines()
    assert len(lines) == 100
    assert lines[0].endswith("INFO  daemon line 52")
    assert "WARN  daemon 0197aabb bad ␛[2J␛]0;mine␇␤2026-01-01 00:00:00 ERROR forged tool=" in lines[-2]
    assert lines[-1] == "Fatal Python error ␛[2J␛]0;mine␇"
    assert "\x1b" not in shown.stdout
    (only,) = commands.run("daemon", "logs", "--json", "--session", "0197AA").stdout.splitlines()
    assert json.loads(only)["message"].startswith(f"bad {ESCAPE}")
    assert "\x1b" not in only
    assert len(commands.run("daemon", "logs", "-n", "3", "--level", "warn").stdout.splitlines()) == 2
    assert commands.run("daemon", "logs", "--level", "loud").returncode == 5


def test_following_goes_on_over_rotations_and_ends_quietly(commands: Shell) -> None:
    path = commands.paths.daemon_log
    write_log(path, "before")
    following = subprocess.Popen(
        commands.argv("daemon", "logs", "-f", "--json"),
        env=commands.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert following.stdout is not None
    seen = [json.loads(following.stdout.readline())["message"]]
    write_log(path, *(f"line {number} " + "x" * 100 for number in range(300)), limit_bytes=20_000)
    seen += [json.loads(following.stdout.readline())["message"].split(" x")[0] for _ in range(300)]
    assert seen == ["before", *(f"line {number}" for number in range(300))]
    assert len(list(commands.paths.state_dir.glob("daemon.log.*"))) > 1
    following.send_signal(signal.SIGINT)
    _, errors = following.communicate(timeout=PATIENCE_S)
    assert (following.returncode, errors) == (130, "")


def test_who_reads_no_more_ends_it_even_where_nothing_is_added(commands: Shell) -> None:
    write_log(commands.paths.daemon_log, "only")
    following = subprocess.Popen(
        commands.argv("daemon", "logs", "-f"), env=commands.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert following.stdout is not None
    assert following.stdout.readline().endswith(b"only\n")
    following.stdout.close()
    following.stdout = None
    _, errors = following.communicate(timeout=PATIENCE_S)
    assert errors == b""


def test_a_running_daemon_s_log_is_found_where_the_settings_put_it(tmp_path: Path) -> None:
    place = tmp_path / "elsewhere.log"
    with shell(tmp_path, settings={"daemon": {"log_file": str(place)}}) as commands:
        assert commands.run("daemon", "start").returncode == 0
        assert commands.json("daemon", "status", "--json")["log"] == str(place)
        assert "INFO  daemon serving version=" in commands.run("daemon", "logs").stdout
        assert not commands.paths.daemon_log.read_text()
        assert commands.run("daemon", "stop").returncode == 0


def test_a_log_that_may_not_be_read_is_one_sentence(commands: Shell) -> None:
    commands.paths.daemon_log.mkdir(parents=True)
    refused = commands.run("daemon", "logs")
    assert refused.returncode == 7
    assert refused.stderr.startswith("betcode: The log cannot be read: ")
    assert len(refused.stderr.splitlines()) == 1
