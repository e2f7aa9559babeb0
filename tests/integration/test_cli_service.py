"""`betcode daemon install` and `uninstall` with a real service manager, if one can run."""

import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from betcode.config.lockfile import read_holder
from betcode.holder.launch import holder_pids
from support.daemon.systemd_manager import user_manager
from support.patience import PATIENCE_S
from support.processes.command import Shell, shell


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Shell]:
    with shell(tmp_path, obedient=False) as commands, user_manager(tmp_path / "home") as environment:
        commands.environment |= environment | {"PATH": commands.environment["PATH"]}
        try:
            yield commands
        finally:
            commands.run("daemon", "uninstall")


def systemctl(here: Shell, *words: str) -> str:
    done = subprocess.run(
        ["systemctl", "--user", *words], env=here.environment, capture_output=True, text=True, timeout=PATIENCE_S
    )
    return done.stdout.strip()


def unit(here: Shell) -> Path:
    return here.daemon.root / "home" / ".config" / "systemd" / "user" / "betcode.service"


def test_the_service_lives_through_a_kill_and_its_agents_through_its_end(here: Shell) -> None:
    installed = here.run("daemon", "install")
    assert (installed.returncode, unit(here).exists()) == (0, True), installed.stderr
    assert "enable-linger" in installed.stderr
    assert here.run("run", "--provider", "demo", "hello").returncode == 0
    assert ".scope" in systemctl(here, "list-units", "betcode-run-*", "--no-legend")
    first = read_holder(here.paths.lock)
    assert first is not None
    assert str(first.pid) == systemctl(here, "show", "-p", "MainPID", "--value", "betcode.service")
    end = os.pidfd_open(first.pid)
    os.kill(first.pid, signal.SIGKILL)
    select.select([end], [], [], PATIENCE_S)
    os.close(end)
    assert here.run("daemon", "start").returncode == 0
    second = read_holder(here.paths.lock)
    assert second is not None
    assert second.pid != first.pid
    assert len(holder_pids(here.paths.runs)) == 1
    removed = here.run("daemon", "uninstall")
    assert (removed.returncode, unit(here).exists()) == (0, False), removed.stderr
    assert systemctl(here, "is-active", "betcode.service") == "inactive"


def test_a_daemon_that_runs_already_makes_way_and_later_starts_go_through_the_service(here: Shell) -> None:
    assert here.run("daemon", "start").returncode == 0
    assert here.run("daemon", "install").returncode == 0
    assert systemctl(here, "is-active", "betcode.service") == "active"
    assert here.json("daemon", "install", "--json")["changed"] is False
    assert here.run("daemon", "stop").returncode == 0
    assert here.run("daemon", "start").returncode == 0
    holder = read_holder(here.paths.lock)
    assert holder is not None
    assert systemctl(here, "show", "-p", "MainPID", "--value", "betcode.service") == str(holder.pid)
    flagged = here.run("daemon", "restart", "--set", "agents.turn_limit=2")
    assert (flagged.returncode, "which ignores --set" in flagged.stderr) == (5, True)
    assert read_holder(here.paths.lock) == holder


def test_a_service_that_cannot_start_leaves_no_unit(here: Shell) -> None:
    here.daemon.configure({"agents": {"turn_limit": "many"}})
    failed = here.run("daemon", "install")
    assert failed.returncode == 7
    assert not unit(here).exists()
    assert "Traceback" not in failed.stderr


def test_without_a_manager_it_says_what_to_do(tmp_path: Path) -> None:
    with shell(tmp_path, obedient=False) as commands:
        refused = commands.run("daemon", "install", XDG_RUNTIME_DIR=str(tmp_path), DBUS_SESSION_BUS_ADDRESS="")
        assert refused.returncode == 5
        assert "betcode daemon" in refused.stderr
        shown = commands.run("daemon", "install", "--print")
        assert (shown.returncode, "Type=notify" in shown.stdout) == (0, True)
        assert commands.run("daemon", "install", "--name", "../x").returncode == 5


@pytest.mark.skipif(sys.platform == "darwin", reason="names of services are never shared there")
@pytest.mark.parametrize("verb", ["install", "uninstall"])
def test_another_programs_service_is_not_changed(tmp_path: Path, verb: str) -> None:
    with shell(tmp_path, obedient=False) as commands:
        foreign = Path(commands.environment["HOME"]) / ".config" / "systemd" / "user" / "syncthing.service"
        foreign.parent.mkdir(parents=True)
        foreign.write_text("[Service]\nExecStart=/usr/bin/syncthing\n")
        refused = commands.run("daemon", verb, "--name", "syncthing")
        assert (refused.returncode, "choose another --name" in refused.stderr) == (5, True)
        assert foreign.read_text().endswith("syncthing\n")


@pytest.mark.behaviour("health.docker")
def test_a_probe_says_by_its_exit_code_whether_the_daemon_is_well(tmp_path: Path) -> None:
    with shell(tmp_path) as commands:
        assert commands.run("daemon", "health").returncode == 2
        assert commands.run("daemon", "start").returncode == 0
        well = commands.run("daemon", "health")
        assert (well.returncode, well.stdout) == (0, "SERVING\n")
