"""What a test leaves running is found and ended, and nothing else."""

import subprocess
import sys
from pathlib import Path

from support.patience import PATIENCE_S
from support.plugins.leftovers import end_leftovers, leftovers

WAITS = [sys.executable, "-c", "import signal; print(flush=True); signal.pause()"]


def test_a_process_that_works_below_the_directory_is_ended(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    with subprocess.Popen(WAITS, cwd=tmp_path / "run", stdout=subprocess.PIPE, start_new_session=True) as left:
        assert left.stdout is not None
        left.stdout.readline()
        assert leftovers(tmp_path) == [left.pid]
        assert end_leftovers(tmp_path) == 1
        assert left.wait(PATIENCE_S) == -9


def test_a_process_whose_environment_names_the_directory_is_ended(tmp_path: Path) -> None:
    named = {"HOME": str(tmp_path / "home")}
    with subprocess.Popen(WAITS, cwd="/", env=named, stdout=subprocess.PIPE, start_new_session=True) as left:
        assert left.stdout is not None
        left.stdout.readline()
        assert end_leftovers(tmp_path) == 1
        assert left.wait(PATIENCE_S) == -9


def test_a_process_elsewhere_is_left_alone(tmp_path: Path) -> None:
    mine, others = tmp_path / "mine", tmp_path / "mine-too"
    mine.mkdir()
    others.mkdir()
    with subprocess.Popen(WAITS, cwd=others, env={}, stdout=subprocess.PIPE) as stranger:
        assert stranger.stdout is not None
        stranger.stdout.readline()
        assert end_leftovers(mine) == 0
        assert stranger.poll() is None
        stranger.kill()
