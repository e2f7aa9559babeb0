"""A command that finds no daemon, and the very first start of all."""

import json
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from betcode.config.lockfile import is_held
from support.patience import PATIENCE_S
from support.processes.command import Shell, shell


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Shell]:
    with shell(tmp_path) as commands:
        del commands.environment["BETCODE_DAEMON_AUTOSTART"]
        yield commands


def runs(here: Shell) -> bool:
    return is_held(here.paths.lock)


def claudes(here: Shell) -> Path:
    """Nothing of ours is there yet, and something of Claude Code's."""
    shutil.rmtree(here.paths.config_dir)
    claude = Path(here.environment["HOME"]) / ".claude"
    (claude / "rules").mkdir(parents=True)
    (claude / "settings.json").write_text('{"model": "opus"}')
    (claude / "rules/a.md").write_text("a")
    return claude


@pytest.mark.behaviour("transport.discovery")
def test_a_person_is_asked_and_may_say_no(here: Shell) -> None:
    with here.terminal("session", "list") as person:
        person.expect("No daemon is running. Start it? [Y/n]")
        person.type("n\n")
        person.expect("Start it with: betcode daemon start")
        assert person.ended() == 2
    assert not runs(here)


def test_a_person_who_agrees_gets_one(here: Shell) -> None:
    with here.terminal("session", "list") as person:
        person.expect("Start it? [Y/n]")
        person.type("\n")
        person.expect("No sessions yet")
        assert person.ended() == 0
    with here.terminal("session", "list") as person:
        assert "Start it?" not in person.expect("No sessions yet")
    assert runs(here)


@pytest.mark.behaviour("transport.discovery")
def test_a_script_starts_one_silently(here: Shell) -> None:
    done = here.run("session", "list")
    assert (done.returncode, done.stderr) == (0, "")
    assert runs(here)


@pytest.mark.parametrize("variables", [{}, {"BETCODE_DAEMON_AUTOSTART": "never"}])
def test_never_is_never_except_when_it_is_asked_for(here: Shell, variables: dict[str, str]) -> None:
    if not variables:
        here.daemon.configure({"daemon": {"autostart": "never"}})
    done = here.run("session", "list", **variables)
    assert done.returncode == 2
    assert "daemon.autostart is never. Start it with: betcode daemon start" in done.stderr
    assert not runs(here)
    assert here.run("daemon", "start", **variables).returncode == 0
    assert here.run("session", "list", **variables).returncode == 0


def test_a_wrong_setting_is_told_before_anything_is_started(here: Shell) -> None:
    here.daemon.configure({"daemon": {"autostart": "perhaps"}})
    for command in (("session", "list"), ("daemon", "start")):
        done = here.run(*command)
        assert done.returncode == 5
        assert 'daemon.autostart must be "ask" or "always" or "never", not "perhaps"' in done.stderr
        assert len(done.stderr.splitlines()) == 1
    assert not runs(here)


@pytest.mark.behaviour(
    "config.first-run.offer", "config.first-run.what", "config.first-run.copies", "config.first-run.once"
)
def test_the_first_start_offers_the_settings_of_claude_code(here: Shell) -> None:
    claude = claudes(here)
    here.environment["BETCODE_DAEMON_AUTOSTART"] = "always"
    with here.terminal("session", "list") as person:
        person.expect(f"Copy your settings and rules from {claude}?")
        person.type("y\n")
        person.expect("settings.json and rules/ (1 file)")
        assert person.ended() == 0
    copy = here.paths.config_dir / "settings.json"
    assert copy.read_text() == '{"model": "opus"}'
    assert not copy.is_symlink()
    assert (here.paths.config_dir / "rules/a.md").read_text() == "a"
    assert "unknown setting" not in here.daemon.log
    here.run("daemon", "stop")
    with here.terminal("session", "list") as person:
        assert "Copy your settings" not in person.expect("No sessions yet")


@pytest.mark.behaviour("config.first-run.once")
def test_who_does_not_want_them_is_not_asked_again(here: Shell) -> None:
    claudes(here)
    with here.terminal("daemon", "start") as person:
        person.expect("Copy your settings and rules")
        person.type("n\n")
        person.expect("The daemon is running at")
    assert list(here.paths.config_dir.iterdir()) == []
    here.run("daemon", "stop")
    with here.terminal("daemon", "start") as person:
        assert "Copy your settings" not in person.expect("The daemon is running at")


@pytest.mark.behaviour("config.first-run.offer", "lifecycle.daemon.start-order")
def test_a_daemon_that_a_service_started_offers_them_to_the_first_person(here: Shell) -> None:
    claude = claudes(here)
    here.daemon.launch(HOME=here.environment["HOME"])
    deadline = time.monotonic() + PATIENCE_S
    while here.run("daemon", "status").returncode != 0:
        assert time.monotonic() < deadline
    shown = here.run("daemon", "status").stdout
    assert f"Settings: to copy those of Claude Code, use betcode config import: {claude}" in shown
    targets = [json.loads(line) for line in here.daemon.log.splitlines()]
    offered = next(at for at, line in enumerate(targets) if "can be imported" in line["message"])
    served = next(at for at, line in enumerate(targets) if line["target"] == "betcode.server.server")
    assert offered < served
    assert here.run("session", "list").stderr == "", "a script is not told by every command"
    with here.terminal("session", "list") as person:
        person.expect(f"Copy your settings and rules from {claude}?")
        person.type("y\n")
        person.expect("No sessions yet")
    while "config import" in here.run("daemon", "status").stdout:  # the daemon sees the files itself
        assert time.monotonic() < deadline
    with here.terminal("session", "list") as person:
        assert "Copy your settings" not in person.expect("No sessions yet")


def test_a_script_is_told_how_and_nothing_is_copied(here: Shell) -> None:
    claudes(here)
    done = here.run("session", "list")
    assert done.returncode == 0
    assert done.stderr == "To copy your Claude Code settings: betcode config import\n"
    assert not here.paths.config_dir.exists()
    assert here.run("session", "list").stderr == ""


def test_where_there_is_nothing_to_copy_nobody_is_asked(here: Shell) -> None:
    shutil.rmtree(here.paths.config_dir)
    assert here.run("session", "list").stderr == ""
