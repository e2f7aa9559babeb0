"""`betcode daemon restart` and `betcode daemon stop --agents`, under running commands."""

import json
import os
import subprocess
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from betcode.config.lockfile import is_held
from betcode.holder.launch import holder_pids
from support.daemon.process import agent_program
from support.patience import PATIENCE_S
from support.processes.command import Shell, shell


def running(here: Shell, prompt: str) -> "AbstractContextManager[subprocess.Popen[str]]":
    """`betcode run`, with its output to be read."""
    return subprocess.Popen(
        here.argv("run", prompt),
        env=here.environment,
        cwd=here.work,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def waits(run: "subprocess.Popen[str]") -> None:
    """Return when the agent is in the middle of its turn."""
    assert run.stdout is not None
    assert run.stdout.read(len("waiting")) == "waiting"


@pytest.mark.behaviour("lifecycle.shutdown.agents-kept", "reconcile.sessions.adopted")
def test_a_restart_in_the_middle_of_a_turn_is_a_reconnect_for_run(tmp_path: Path) -> None:
    with shell(tmp_path) as here:
        before = here.json("daemon", "start", "--json")["pid"]
        assert "Start-up: clean\n" in here.run("daemon", "status").stdout
        with running(here, "wait go\nsay done") as run:
            waits(run)
            done = here.json("daemon", "restart", "--json")
            assert (done["restarted"], done["pid_before"], done["agents_left"]) == (True, before, 1)
            assert done["pid"] != before
            (here.work / "go").touch()
            out, errors = run.communicate(timeout=PATIENCE_S)
        assert run.returncode == 0, errors
        assert out == "done\n"
        assert "connect again" not in errors, "that is done for the reader"
        assert len(here.daemon.agent_pids) == 1
        assert here.json("daemon", "status", "--json")["facts"]["found_at_start_adopted"] == "1"
        (found,) = [line for line in here.run("daemon", "status").stdout.splitlines() if "Start-up" in line]
        assert found.startswith("Start-up: 1 agent taken over")
        assert " 0 " not in found


def test_a_daemon_that_could_not_start_again_is_not_stopped(tmp_path: Path) -> None:
    with shell(tmp_path) as here:
        pid = here.json("daemon", "start", "--json")["pid"]
        settings = here.paths.config_dir / "settings.json"
        before = settings.read_text()
        settings.write_text('{"notify": {"webhook": {"url": "https://example.com/"}}}')
        done = here.run("daemon", "restart")
        assert (done.returncode, done.stdout) == (5, "")
        assert "notify.webhook.secret_file" in done.stderr
        assert done.stderr.endswith("The daemon was not stopped\n")
        settings.write_text(before)
        assert here.json("daemon", "restart", "--json")["pid_before"] == pid


@pytest.mark.behaviour("lifecycle.shutdown.agents-kept")
def test_a_restart_under_a_terminal_shows_the_rest_of_the_turn_once(tmp_path: Path) -> None:
    with shell(tmp_path) as here, running(here, "wait go\nsay the end") as run:
        waits(run)
        session = here.json("session", "list", "--json")["sessions"][0]["id"]
        with here.terminal("attach", session) as terminal:
            terminal.expect("waiting")
            assert "1 continues" in here.run("daemon", "restart").stdout
            terminal.expect("Reconnected")
            (here.work / "go").touch()
            terminal.expect("the end")
            run.communicate(timeout=PATIENCE_S)
        assert run.returncode == 0
        assert terminal.seen.partition("Reconnected")[2].count("the end") == 1
        assert len(here.daemon.agent_pids) == 1


def test_a_restart_where_nothing_runs_is_a_start(tmp_path: Path) -> None:
    with shell(tmp_path) as here:
        done = here.json("daemon", "restart", "--json")
        assert (done["restarted"], done["pid_before"]) == (False, 0)
        assert here.json("daemon", "status", "--json")["pid"] == done["pid"]
        assert here.run("daemon", "restart", "--no-start").returncode == 5
        assert here.json("daemon", "status", "--json")["pid"] == done["pid"]


def test_a_stop_says_whether_agents_continue(tmp_path: Path) -> None:
    with shell(tmp_path) as here:
        here.run("daemon", "start")
        assert here.run("daemon", "stop").stdout.endswith("has stopped; no agent was working\n")
        assert here.run("run", "say hello").returncode == 0  # its agent is idle now, and is ended with the daemon
        assert here.run("daemon", "stop").stdout.endswith("has stopped; no agent was working\n")
        with running(here, "wait go") as run:
            waits(run)
            stopped = here.run("daemon", "stop").stdout
            assert stopped.endswith("has stopped; 1 agent continues, and the next daemon takes it over\n")
            run.kill()


@pytest.mark.parametrize("verb", ["stop", "restart"])
def test_with_agents_everything_ends_and_is_counted(tmp_path: Path, verb: str) -> None:
    with shell(tmp_path) as here, running(here, "wait go") as run:
        waits(run)
        done = here.run("daemon", verb, "--agents")
        assert done.returncode == 0, done.stderr
        assert "1 agent ended, 0 continue" in done.stdout
        assert holder_pids(here.paths.runs) == frozenset()
        assert not [pid for pid in here.daemon.agent_pids if Path(f"/proc/{pid}").exists()]
        assert is_held(here.paths.lock) is (verb == "restart")
        here.run("daemon", "start")
        _, errors = run.communicate(timeout=PATIENCE_S)
        assert run.returncode == 1, errors


def test_agents_without_a_daemon_are_ended_too(tmp_path: Path) -> None:
    with shell(tmp_path) as here, running(here, "wait go") as run:
        waits(run)
        here.run("daemon", "stop")
        assert len(holder_pids(here.paths.runs)) == 1
        done = here.json("daemon", "stop", "--agents", "--json")
        assert (done["stopped"], done["agents_ended"], done["agents_left"]) == (True, 1, 0)
        assert holder_pids(here.paths.runs) == frozenset()
        assert here.run("daemon", "stop", "--agents").stdout == "No daemon and no agent is running\n"
        run.kill()


def test_a_restart_takes_over_from_a_daemon_that_was_killed(tmp_path: Path) -> None:
    with shell(tmp_path) as here:
        pid = here.json("daemon", "start", "--json")["pid"]
        here.daemon_signal("KILL")
        done = here.json("daemon", "restart", "--json")
        assert done["pid"] not in (0, pid)
        os.kill(done["pid"], 0)


def test_an_answer_to_an_ended_agent_says_that_a_message_is_needed(tmp_path: Path) -> None:
    with shell(tmp_path) as here:
        here.environment["BETCODE_CLAUDE_BIN"] = str(agent_program(tmp_path, "asker.py"))
        parked = here.run("run", "--on-ask", "park", "--json", 'use Bash {"command": "make"}')
        (request_id,), session = json.loads(parked.stdout)["parked"], json.loads(parked.stdout)["session_id"]
        assert here.run("daemon", "restart", "--agents").returncode == 0
        done = here.run("permission", "answer", request_id, "--allow")
        assert done.returncode == 0, done.stderr
        assert "To continue, send a message" in done.stderr
        assert "then asked about again, with this answer as the suggestion" in done.stderr
        here.run("run", "--session", session, "--on-ask", "park", 'use Bash {"command": "make"}')
        (again,) = here.json("permission", "list", "--json")["prompts"]
        assert "You allowed this before the agent crashed" in again["note"]
