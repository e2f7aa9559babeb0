"""Whom a lock file names is believed only if it is a holder: agents can write these files."""

import fcntl
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from betcode.holder.launch import holder_pid, holder_pids, is_alive


@pytest.fixture
def bystander() -> Iterator[int]:
    with subprocess.Popen(["sleep", "600"]) as process:
        try:
            yield process.pid
        finally:
            process.kill()


def test_a_held_lock_that_names_a_bystander_names_nobody(tmp_path: Path, bystander: int) -> None:
    run = tmp_path / "run"
    run.mkdir()
    for named in (bystander, os.getpid(), 1):
        (run / "lock").write_text(f"{named} 1\n")
        with (run / "lock").open() as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            assert is_alive(run)
            assert holder_pid(run) is None
            assert holder_pids(tmp_path) == frozenset()
