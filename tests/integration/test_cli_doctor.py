"""`betcode doctor` as a person runs it, beside a real daemon."""

import json
import os
import signal
from pathlib import Path

import pytest

from betcode.holder.launch import holder_pids
from support.daemon.process import agent_program
from support.processes.command import shell


def test_the_doctor_works_with_and_without_a_daemon(tmp_path: Path) -> None:
    with shell(tmp_path) as here:
        here.environment["ANTHROPIC_API_KEY"] = "k"
        claude = tmp_path / "says-its-version"
        claude.write_text("#!/bin/sh\necho 2.1.325\n")
        claude.chmod(0o755)
        here.environment["BETCODE_CLAUDE_BIN"] = str(claude)
        before = here.run("doctor")
        assert (before.returncode, before.stdout.splitlines()[-1]) == (0, "No problems found"), before.stdout
        assert "none is running" in before.stdout
        assert not here.paths.socket.exists(), "it starts none"
        here.run("daemon", "start", "--claude-bin", str(agent_program(tmp_path)))
        well = here.run("doctor", "--json")
        assert (well.returncode, json.loads(well.stdout)["well"]) == (0, True), well.stdout
        here.run("run", "say hello")
        here.paths.socket.chmod(0o666)
        (holder,) = holder_pids(here.paths.runs)
        here.daemon_signal("KILL")
        alone = here.run("doctor")
        assert (alone.returncode, alone.stdout.splitlines()[-1]) == (1, "1 problem found"), alone.stdout
        assert "chmod 600" in alone.stdout
        assert "1 agents are running without a daemon" in alone.stdout
        os.kill(holder, signal.SIGTERM)


def test_an_unreadable_state_directory_is_a_finding(tmp_path: Path) -> None:
    with shell(tmp_path) as here:
        here.paths.state_dir.mkdir()
        here.paths.lock.symlink_to(here.paths.lock)
        done = here.run("doctor")
        assert (done.returncode, done.stderr) == (1, "")
        assert "cannot be checked" in done.stdout


@pytest.mark.parametrize("is_running", [True, False], ids=["running", "stopped"])
def test_repair_sets_an_unusable_run_aside_and_the_session_works_again(tmp_path: Path, is_running: bool) -> None:
    with shell(tmp_path) as here:
        begun = here.run("run", "--json", "say hello")
        session = json.loads(begun.stdout.splitlines()[0])["session_id"]
        (run,) = here.paths.runs.iterdir()
        (here.paths.runs / "stray").write_text("not a run")
        (run / "lock").unlink()
        os.mkfifo(run / "lock")
        if not is_running:
            here.daemon_signal("KILL")
        problem = f"runs/{run.name}: `lock` is a FIFO, not a regular file"
        found = here.run("doctor")
        assert found.returncode == 1
        assert problem in found.stdout
        assert "runs/stray: it is a regular file, not a directory" in found.stdout
        assert "betcode doctor --repair" in found.stdout
        if is_running:
            shown = here.run("daemon", "status").stdout
            assert f"Unusable run: {run.name} (session {session}): `lock` is a FIFO" in shown
            listed = here.json("daemon", "status", "--json")["unusable_runs"]
            assert [one["name"] for one in listed] == sorted([run.name, "stray"])
            assert {one["session"] for one in listed} == {session, None}
        refused = here.run("doctor", "--repair")
        assert refused.returncode == 5
        assert "add --yes" in refused.stderr
        assert run.exists()
        done = here.run("doctor", "--repair", "--yes", "--json")
        moved = json.loads(done.stdout)["set_aside"]
        assert [one["name"] for one in moved] == sorted([run.name, "stray"]), done.stderr
        assert not run.exists()
        assert Path(moved[0]["moved_to"]).parent == here.paths.set_aside
        assert sorted(path.name for path in here.paths.set_aside.iterdir()) == sorted([run.name, "stray"])
        assert (here.paths.set_aside / "stray").read_text() == "not a run"
        assert "all usable" in here.run("doctor").stdout
        again = here.run("run", "--session", session, "say again")
        assert (again.returncode, again.stdout) == (0, "again\n"), again.stderr
        assert here.json("daemon", "status", "--json")["unusable_runs"] == []


def test_repair_sets_the_directory_of_runs_aside_when_it_is_none(tmp_path: Path) -> None:
    with shell(tmp_path) as here:
        begun = here.run("run", "--json", "say hello")
        session = json.loads(begun.stdout.splitlines()[0])["session_id"]
        here.paths.runs.rename(tmp_path / "moved")
        os.mkfifo(here.paths.runs)
        (listed,) = here.json("daemon", "status", "--json")["unusable_runs"]
        assert (listed["name"], listed["problem"]) == ("runs", "it is a FIFO, not a directory")
        assert "Unusable run: runs: it is a FIFO" in here.run("daemon", "status").stdout
        found = here.run("doctor")
        assert found.stdout.count("it is a FIFO, not a directory") == 1
        done = here.run("doctor", "--repair", "--yes", "--json")
        (moved,) = json.loads(done.stdout)["set_aside"]
        assert (moved["name"], moved["moved_to"]) == ("runs", str(here.paths.set_aside / "runs")), done.stderr
        assert here.paths.runs.stat().st_mode & 0o777 == 0o700
        assert here.json("daemon", "status", "--json")["unusable_runs"] == []
        again = here.run("run", "--session", session, "say again")
        assert (again.returncode, again.stdout) == (0, "again\n"), again.stderr


def test_repair_with_nothing_to_repair_says_so_and_examines(tmp_path: Path) -> None:
    with shell(tmp_path) as here:
        here.run("run", "say hello")
        done = here.run("doctor", "--repair")
        assert "Nothing to repair" in done.stderr
        assert "1 run on disk, all usable" in done.stdout
