"""Journals are kept for days, not for ever, and never taken from a live agent."""

import fcntl
import gzip
import os
import resource
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from betcode.engine.maintenance.journal_retention import sweep
from betcode.holder.journal import segment_name
from support.daemon.odd_runs import ODD_RUNS, put_strays

DAY_S = 86_400.0
ENDED = ("lock has a pid of 25 digits", "lock is a terabyte")  # nobody holds these, whatever they contain


def a_run(runs: Path, name: str, *, size: int = 100, age_s: float = 0.0, now: float = 1e9) -> Path:
    directory = runs / name
    directory.mkdir()
    (directory / segment_name(0)).write_bytes(os.urandom(size))
    os.utime(directory, (now - age_s, now - age_s))
    return directory


def test_an_ended_run_is_compressed_and_kept(tmp_path: Path) -> None:
    directory = a_run(tmp_path, "ended", size=500)
    body = (directory / segment_name(0)).read_bytes()
    swept = sweep(tmp_path, {}, keep_s=7 * DAY_S, keep_bytes=10**9)
    assert (swept.compressed, swept.removed) == (1, 0)
    assert gzip.decompress((directory / (segment_name(0) + ".gz")).read_bytes()) == body
    assert sweep(tmp_path, {}, keep_s=7 * DAY_S, keep_bytes=10**9).compressed == 0


def test_the_socket_of_a_dead_holder_goes_and_a_living_ones_stays(tmp_path: Path) -> None:
    dead, alive = a_run(tmp_path, "dead"), a_run(tmp_path, "alive")
    for directory in (dead, alive):
        (directory / "lock").write_text("4711\n")
        (directory / "socket").touch()
    with (alive / "lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        sweep(tmp_path, {}, keep_s=7 * DAY_S, keep_bytes=10**9)
    assert (alive / "socket").exists()
    assert not (dead / "socket").exists()


def test_old_runs_go_and_young_ones_stay(tmp_path: Path) -> None:
    old = a_run(tmp_path, "old")
    sweep(tmp_path, {}, keep_s=7 * DAY_S, keep_bytes=10**9)
    os.utime(old, (0, 0))
    young = a_run(tmp_path, "young", age_s=6 * DAY_S)
    swept = sweep(tmp_path, {}, keep_s=7 * DAY_S, keep_bytes=10**9)
    assert swept.removed == 1
    assert young.exists()
    assert not old.exists()


def test_past_the_size_the_oldest_go_first(tmp_path: Path) -> None:
    for number in range(4):
        directory = a_run(tmp_path, f"run{number}", size=1000)
        sweep(tmp_path, {}, keep_s=1e9 * 9, keep_bytes=10**9)
        os.utime(directory, (1000 + number, 1000 + number))
    sweep(tmp_path, {}, keep_s=1e9 * 9, keep_bytes=2500)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run2", "run3"]


def test_a_run_whose_holder_lives_is_left_alone(tmp_path: Path) -> None:
    directory = a_run(tmp_path, "alive")
    with (directory / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        swept = sweep(tmp_path, {}, keep_s=0, keep_bytes=0, now=1e12)
    assert swept.removed == 0
    assert (directory / segment_name(0)).exists()


def test_a_run_that_never_had_a_journal_is_no_trouble(tmp_path: Path) -> None:
    (tmp_path / "never-begun").mkdir()
    (tmp_path / "never-begun" / "holder.log").touch()
    other = a_run(tmp_path, "other")
    assert sweep(tmp_path, {}, keep_s=1e12, keep_bytes=10**9).compressed == 1
    assert (other / (segment_name(0) + ".gz")).exists()


def test_runs_that_were_removed_are_no_trouble(tmp_path: Path) -> None:
    assert sweep(tmp_path / "nothing", {}, keep_s=0, keep_bytes=0).removed == 0


@contextmanager
def files_no_longer_than(size: int) -> Iterator[None]:
    """As on a full disk: writing fails from there on."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_without_room_to_compress_journals_stay_as_they_are_and_old_ones_still_go(tmp_path: Path) -> None:
    kept = a_run(tmp_path, "kept", size=100_000)
    body = (kept / segment_name(0)).read_bytes()
    with files_no_longer_than(1000):
        assert sweep(tmp_path, {}, keep_s=1e12, keep_bytes=10**9).compressed == 0
        assert [path.name for path in kept.iterdir()] == [segment_name(0)]
        assert (kept / segment_name(0)).read_bytes() == body
        assert sweep(tmp_path, {}, keep_s=0, keep_bytes=0, now=1e12).removed == 1


def test_entries_that_are_no_runs_are_left_alone_and_stop_no_sweep(tmp_path: Path) -> None:
    strays = put_strays(tmp_path)
    old = a_run(tmp_path, "zz-old", age_s=8 * DAY_S)
    before = {path.name for path in tmp_path.iterdir() if not path.name.startswith("empty-")}
    sweep(tmp_path, {}, keep_s=7 * DAY_S, keep_bytes=10**9)
    os.utime(old, (0, 0))
    sweep(tmp_path, {}, keep_s=7 * DAY_S, keep_bytes=10**9)
    assert not old.exists(), "those behind them in the list are swept"
    assert {path.name for path in tmp_path.iterdir() if not path.name.startswith("empty-")} == before - {"zz-old"}
    assert len(strays) == 10


UNTELLABLE = [
    kind
    for kind, case in ODD_RUNS.items()
    if case.reported and not case.holder_dead and not case.heals_by_itself and kind not in ENDED
]


@pytest.mark.parametrize("kind", UNTELLABLE)
def test_an_unusable_run_stays_until_a_person_has_decided(tmp_path: Path, kind: str) -> None:
    directory = tmp_path / "runs" / "odd"
    directory.parent.mkdir()
    a_run(tmp_path / "runs", "odd")
    (directory / "lock").write_text("4711 1\n")
    with ExitStack() as stack:
        ODD_RUNS[kind].apply(directory, stack)
        os.utime(directory, (0, 0), follow_symlinks=False)
        swept = sweep(tmp_path / "runs", {}, keep_s=7 * DAY_S, keep_bytes=0)
        assert (swept.compressed, swept.removed) == (0, 0)
        assert directory.is_symlink() or directory.exists()
