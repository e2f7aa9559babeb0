"""The doctor finds each problem and suggests a fix; a healthy machine has none."""

import fcntl
import json
import os
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from betcode.cli.core.options import options_from
from betcode.cli.core.parser import build_parser
from betcode.cli.doctor import files as doctor_files
from betcode.cli.doctor.command import examined
from betcode.cli.doctor.finding import Finding, Level, Situation
from betcode.config.load import load_settings
from betcode.config.lockfile import LockOwner, hold_lock
from betcode.config.paths import Paths, choose_paths
from betcode.storage.sqlite.probe import ProbeResult, glance
from support.daemon.tcp import certificate
from support.patience import PATIENCE_S
from support.storage.disk import small_disk

LOGGED_IN = {"ANTHROPIC_API_KEY": "k"}


class Patient:
    """A place of its own, in which something can be made wrong."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.state = root / "state"
        self.config = root / "config"
        self.environ = {"HOME": str(root), "PATH": "/nowhere", **LOGGED_IN}
        self.claude = root / "claude"
        self.stack = ExitStack()
        for directory in (self.state, self.config):
            directory.mkdir(mode=0o700)
        self.program('echo "2.1.325 (Claude Code)"')

    def program(self, script: str) -> None:
        self.claude.write_text(f"#!/bin/sh\n{script}\n")
        self.claude.chmod(0o755)

    def settings(self, text: str) -> None:
        (self.config / "settings.json").write_text(text)

    @property
    def paths(self) -> Paths:
        return choose_paths({}, state_dir=self.state, config_dir=self.config)

    def findings(self) -> list[Finding]:
        words = ["doctor", "--state-dir", str(self.state), "--config-dir", str(self.config)]
        chosen = build_parser().parse_args([*words, "--claude-bin", str(self.claude)])
        return list(examined(options_from(chosen, self.environ), self.environ))

    def at(self, level: Level) -> dict[str, str]:
        return {one.check: one.says for one in self.findings() if one.level is level}


@pytest.fixture
def patient(tmp_path: Path) -> Iterator[Patient]:
    patient = Patient(tmp_path)
    with patient.stack:
        yield patient


def test_where_all_is_well_nothing_must_be_mended(patient: Patient) -> None:
    assert patient.at(Level.TROUBLE) == {}
    assert {"settings", "agent", "login", "disk", "clock", "database", "processes", "open files"} <= {
        one.check for one in patient.findings()
    }


def _bind_for_all(patient: Patient) -> None:
    listening = patient.stack.enter_context(closing(socket.socket(socket.AF_UNIX)))
    listening.bind(str(patient.state / "daemon.sock"))
    (patient.state / "daemon.sock").chmod(0o666)


def _put_a_file_there(patient: Patient) -> None:
    patient.state.rmdir()
    patient.state.touch()


def _hold_for_a_dead_process(patient: Patient) -> None:
    gone = subprocess.Popen(["true"])
    gone.wait(PATIENCE_S)
    holder = LockOwner(gone.pid, "2026-01-01T00:00:00+00:00", str(patient.state / "daemon.sock"), "0")
    patient.stack.enter_context(hold_lock(patient.state / "daemon.lock", holder))


def _hold_a_run_that_no_session_has(patient: Patient) -> None:
    run = patient.state / "runs" / "ghost"
    run.mkdir(parents=True)
    lock = patient.stack.enter_context((run / "lock").open("w"))
    fcntl.flock(lock, fcntl.LOCK_EX)
    holder = LockOwner(os.getpid(), "2026-01-01T00:00:00+00:00", str(patient.state / "daemon.sock"), "0")
    patient.stack.enter_context(hold_lock(patient.state / "daemon.lock", holder))


def _leave_a_process(patient: Patient) -> None:
    (patient.state / "runs" / "run-of-nobody").mkdir(parents=True)
    environ = {**os.environ, "BETCODE_RUN": "run-of-nobody"}
    left = subprocess.Popen([sys.executable, "-c", "input()"], env=environ, stdin=subprocess.PIPE)
    patient.stack.callback(left.communicate)


def _write_tomorrow(patient: Patient) -> None:
    log = patient.state / "daemon.log"
    log.touch()
    later = log.stat().st_mtime + 86400
    os.utime(log, (later, later))


def _expose_the_token(patient: Patient) -> None:
    patient.settings(json.dumps({"daemon": {"listen": "127.0.0.1"}}))
    (patient.config / "tcp.token").write_text("x" * 40)
    (patient.config / "tcp.token").chmod(0o644)


def _name_no_certificate(patient: Patient) -> None:
    files = {"tls_cert": str(patient.claude), "tls_key": str(patient.claude)}
    patient.settings(json.dumps({"daemon": {"listen": "0.0.0.0", **files}}))


def _show_the_key(patient: Patient) -> None:
    cert, key = certificate(patient.root / "tls")
    key.chmod(0o644)
    patient.settings(json.dumps({"daemon": {"listen": "0.0.0.0", "tls_cert": str(cert), "tls_key": str(key)}}))


TROUBLES: list[tuple[Callable[[Patient], object], str, str]] = [
    (lambda it: it.settings("{"), "settings", "is not JSON"),
    (lambda it: it.settings('{"agents": {"turn_limit": 0}}'), "settings", "agents.turn_limit must be"),
    (lambda it: it.config.chmod(0o777), "config directory", "others can write"),
    (lambda it: it.state.chmod(0o770), "state directory", "others can write"),
    (_put_a_file_there, "state directory", "is not a directory"),
    (lambda it: (it.state / "betcode.db").write_bytes(b"x" * 4096), "database", "is not an SQLite database"),
    (lambda it: (it.state / "betcode.db").touch(0o644), "database", "others can read"),
    (_bind_for_all, "socket", "others can connect"),
    (lambda it: (it.state / "daemon.sock").touch(), "socket", "is not a socket"),
    (_hold_for_a_dead_process, "lock", "which has ended"),
    (_leave_a_process, "processes", "whose holder has ended"),
    (_hold_a_run_that_no_session_has, "processes", "agents without a session: ghost"),
    (_write_tomorrow, "clock", "in the future"),
    (lambda it: it.claude.unlink(), "agent", "is not an executable file"),
    (lambda it: it.program("echo 1.0.3"), "agent", "v1.0.3 < required v"),
    (lambda it: it.program("echo nothing"), "agent", "printed no version"),
    (lambda it: it.environ.pop("ANTHROPIC_API_KEY"), "login", "not logged in"),
    (_expose_the_token, "token", "can be read by other users"),
    (_name_no_certificate, "certificate", "cannot be read"),
    (_show_the_key, "key", "others can read"),
]


@pytest.mark.parametrize(("spoil", "check", "says"), TROUBLES, ids=[f"{check}: {says}" for _, check, says in TROUBLES])
def test_each_problem_is_found_with_a_fix(
    patient: Patient, spoil: Callable[[Patient], object], check: str, says: str
) -> None:
    spoil(patient)
    found = [one for one in patient.findings() if one.level is Level.TROUBLE]
    assert any(one.check == check and says in one.says for one in found), found
    assert all(one.mend for one in found)


def test_a_login_in_a_file_counts_and_a_broken_one_does_not(patient: Patient) -> None:
    del patient.environ["ANTHROPIC_API_KEY"]
    credentials = patient.root / ".claude" / ".credentials.json"
    credentials.parent.mkdir()
    credentials.write_text("{")
    assert "login" in patient.at(Level.TROUBLE)
    credentials.write_text('{"claudeAiOauth": {"accessToken": "t"}}')
    assert "login" not in patient.at(Level.TROUBLE)


def test_a_certificate_is_reported_before_and_after_it_expires(patient: Patient) -> None:
    cert, key = certificate(patient.root / "tls", days=3)
    patient.settings(json.dumps({"daemon": {"listen": "0.0.0.0", "tls_cert": str(cert), "tls_key": str(key)}}))
    assert "is valid until" in patient.at(Level.NOTE)["certificate"]
    cert, key = certificate(patient.root / "tls", days=300)
    assert "is valid until" in patient.at(Level.OK)["certificate"]

    situation = Situation(patient.paths, load_settings(patient.config).settings, {}, "", time.time() + 400 * 86400)
    (later,) = [one for one in doctor_files.listening(situation) if one.check == "certificate"]
    assert (later.level, "expired on" in later.says) == (Level.TROUBLE, True)


def test_a_disk_that_is_nearly_full_is_found(patient: Patient, tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", 24) as disk:
        patient.state = disk / "state"
        assert "MB free" in patient.at(Level.TROUBLE)["disk"]


def test_too_few_open_files_are_found(patient: Patient) -> None:
    script = "from betcode.cli.doctor.processes import open_files; print(next(open_files(None)).level)"
    argv = ["prlimit", "--nofile=256:256", sys.executable, "-c", script]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=PATIENCE_S)
    assert done.stdout.strip() == "trouble", done.stderr


def test_a_long_check_of_the_database_is_cut_short(tmp_path: Path) -> None:
    database = tmp_path / "betcode.db"
    with closing(sqlite3.connect(database)) as db, db:
        db.execute("CREATE TABLE runs (run_id TEXT, state TEXT)")
        db.execute("CREATE TABLE sessions (updated_ns INTEGER)")
        db.execute("CREATE TABLE big (value TEXT)")
        db.execute(
            "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 50000) "
            "INSERT INTO big SELECT hex(randomblob(20)) FROM n"
        )
        db.execute("INSERT INTO runs VALUES ('a', 'running'), ('b', 'exited')")
        db.execute("INSERT INTO sessions VALUES (7)")
    assert glance(database, within_s=60.0) == ProbeResult((), True, 7, frozenset({"a"}))
    assert glance(database, within_s=-1.0) == ProbeResult((), False, 7, frozenset({"a"}))


def test_an_unknown_setting_is_worth_a_note(patient: Patient) -> None:
    patient.settings('{"agents": {"turn_limits": 3}}')
    assert "did you mean agents.turn_limit?" in patient.at(Level.NOTE)["settings"]
    assert patient.at(Level.TROUBLE) == {}


def test_a_missing_git_is_only_a_note(patient: Patient) -> None:
    assert patient.at(Level.NOTE)["git"] == "git is not installed: install git 2.36 or newer"
    program = patient.root / "git"
    program.write_text("#!/bin/sh\necho git version 2.35.1\n")
    program.chmod(0o755)
    patient.environ["PATH"] = str(patient.root)
    assert patient.at(Level.NOTE)["git"] == "git 2.35.1 is too old: install git 2.36 or newer"
    program.write_text("#!/bin/sh\necho git version 2.47.1\n")
    assert patient.at(Level.OK)["git"] == "git 2.47.1"
