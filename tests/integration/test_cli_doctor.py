"""`betcode doctor` as a person runs it, beside a real daemon."""

import json
import os
import signal
from pathlib import Path

from betcode.holder.launch import holder_pids
from support.command import shell
from support.daemon import agent_program


def test_the_doctor_works_with_and_without_a_daemon(tmp_path: Path) -> None:
    with shell(tmp_path) as here:
        here.environment["ANTHROPIC_API_KEY"] = "k"
        claude = tmp_path / "says-its-version"
        claude.write_text("#!/bin/sh\necho 2.1.325\n")
        claude.chmod(0o755)
        here.environment["BETCODE_CLAUDE_BIN"] = str(claude)
        before = here.run("doctor")
        assert (before.returncode, before.stdout.splitlines()[-1]) == (0, "All is well"), before.stdout
        assert "none is running" in before.stdout
        assert not here.places.socket.exists(), "it starts none"
        here.run("daemon", "start", "--claude-bin", str(agent_program(tmp_path)))
        well = here.run("doctor", "--json")
        assert (well.returncode, json.loads(well.stdout)["well"]) == (0, True), well.stdout
        here.run("run", "say hello")
        here.places.socket.chmod(0o666)
        (holder,) = holder_pids(here.places.runs)
        here.daemon_signal("KILL")
        alone = here.run("doctor")
        assert (alone.returncode, alone.stdout.splitlines()[-1]) == (1, "1 thing must be mended"), alone.stdout
        assert "chmod 600" in alone.stdout
        assert "1 agents go on without a daemon" in alone.stdout
        os.kill(holder, signal.SIGTERM)


def test_a_state_directory_that_cannot_be_looked_into_is_a_finding(tmp_path: Path) -> None:
    with shell(tmp_path) as here:
        here.places.state_dir.mkdir()
        here.places.lock.symlink_to(here.places.lock)
        done = here.run("doctor")
        assert (done.returncode, done.stderr) == (1, "")
        assert "it cannot be looked for" in done.stdout
