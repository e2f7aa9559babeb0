"""A test ends its own daemon, holders and agents, whatever pids its files name."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from betcode.holder.platform import Process
from support.daemon.process import Daemon
from support.patience import PATIENCE_S
from support.processes.process_trees import trees_below

OWN = 20
TABLE = {
    pid: Process(pid, parent, start=pid, zombie=zombie)
    for pid, parent, zombie in [
        (1, 0, False),
        (10, 1, False),  # runs the tests
        (OWN, 10, False),
        (21, 10, False),  # another worker
        (30, OWN, False),  # the daemon
        (31, 30, False),
        (32, 30, True),
        (40, 1, False),  # a holder
        (41, 40, False),  # its agent
        (50, 1, False),  # somebody else's
    ]
}
WAITS = [sys.executable, "-c", "import signal; print(flush=True); signal.pause()"]


@pytest.mark.parametrize(
    ("roots", "ended"),
    [
        ({30, 40}, {30, 31, 40, 41}),
        ({30, 1, 0, -1}, {30, 31}),
        ({OWN, 10, 40}, {40, 41}),
        ({99}, set()),
        (set[int](), set()),
    ],
)
def test_only_processes_at_and_below_the_roots_are_ended(roots: set[int], ended: set[int]) -> None:
    assert {one.pid for one in trees_below(TABLE, roots, OWN)} == ended


@contextmanager
def waiting(*words: str, **environment: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process that runs until it is killed, at the latest at the end of the block."""
    with subprocess.Popen(
        [*WAITS, *words], cwd="/", env=environment, stdout=subprocess.PIPE, start_new_session=True
    ) as started:
        try:
            assert started.stdout is not None
            started.stdout.readline()
            yield started
        finally:
            started.kill()


def test_a_process_that_only_mentions_the_directory_is_not_ended(tmp_path: Path) -> None:
    daemon = Daemon(tmp_path)
    with waiting(f"{tmp_path}/notes") as stranger:
        assert [one.pid for one in daemon.processes()] == [stranger.pid]
        daemon.end_everything()
        assert stranger.poll() is None


def test_a_process_of_a_run_is_ended(tmp_path: Path) -> None:
    daemon = Daemon(tmp_path)
    (daemon.paths.runs / "r-1").mkdir(parents=True)
    with waiting(BETCODE_RUN="r-1") as agent:
        daemon.end_everything()
        assert agent.wait(PATIENCE_S) == -9
