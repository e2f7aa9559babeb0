"""Which entries of the directory of runs cannot be used, and why."""

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from betcode.holder.journal import segment_name
from betcode.holder.launch import held_runs, holder_pids, parse_lock
from betcode.holder.run_check import fault_of, run_faults

FIRST = segment_name(0)


def a_run(directory: Path) -> Path:
    """A run as an ended holder leaves it."""
    directory.mkdir()
    (directory / "lock").write_bytes(b"4711 12345678\n")
    (directory / FIRST).write_bytes(b"")
    (directory / "holder.log").write_bytes(b"")
    return directory


def test_a_run_as_holders_leave_it_has_no_fault(tmp_path: Path) -> None:
    run = a_run(tmp_path / "run")
    assert fault_of(run) is None
    (run / "lock").write_bytes(b"barred\n")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(run / "socket"))
    (run / FIRST).rename(run / (FIRST + ".gz"))
    assert fault_of(run) is None
    assert fault_of(tmp_path / "not there") is None


def replaced_by(name: str, make: Callable[[Path], object]) -> Callable[[Path], object]:
    def replace(run: Path) -> None:
        (run / name).unlink(missing_ok=True)
        make(run / name)

    return replace


def sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1 << 40)


ODD: dict[str, tuple[Callable[[Path], object], str]] = {
    "lock directory": (replaced_by("lock", Path.mkdir), "`lock` is a directory, not a regular file"),
    "lock self-link": (replaced_by("lock", lambda p: p.symlink_to(p)), "`lock` is a symbolic link, not a regular file"),
    "lock FIFO": (replaced_by("lock", os.mkfifo), "`lock` is a FIFO, not a regular file"),
    "lock pid": (lambda run: (run / "lock").write_text("9" * 25), "`lock` does not hold the pid of a holder"),
    "lock huge": (replaced_by("lock", sparse), "`lock` is longer than 256 bytes"),
    "socket directory": (replaced_by("socket", Path.mkdir), "`socket` is a directory, not a socket"),
    "segment FIFO": (replaced_by(FIRST, os.mkfifo), f"`{FIRST}` is a FIFO, not a regular file"),
    "segment directory": (replaced_by(FIRST, Path.mkdir), f"`{FIRST}` is a directory, not a regular file"),
    "segment loop": (
        replaced_by(FIRST, lambda p: p.symlink_to(p)),
        f"`{FIRST}` is a symbolic link, not a regular file",
    ),
    "segment sparse": (replaced_by(FIRST, sparse), f"`{FIRST}` is longer than 268435456 bytes"),
}


@pytest.mark.parametrize("kind", ODD)
def test_each_fault_of_a_run_is_named(tmp_path: Path, kind: str) -> None:
    make, problem = ODD[kind]
    make(a_run(tmp_path / "run"))
    fault = fault_of(tmp_path / "run")
    assert fault is not None
    assert (fault.shown, fault.problem, fault.is_run) == ("run", problem, True)
    assert held_runs(tmp_path) == frozenset()
    assert holder_pids(tmp_path) == frozenset()


def test_entries_that_are_no_runs_are_listed_by_name(tmp_path: Path) -> None:
    a_run(tmp_path / "fine")
    (tmp_path / "file").touch()
    os.mkfifo(tmp_path / "pipe\n")
    (tmp_path / "link").symlink_to("nowhere")
    found = [(fault.shown, fault.problem, fault.is_run) for fault in run_faults(tmp_path)]
    assert found == [
        ("file", "it is a regular file, not a directory", False),
        ("link", "it is a symbolic link, not a directory", False),
        ("pipe?", "it is a FIFO, not a directory", False),
    ]


def test_a_directory_of_runs_that_is_a_file_is_one_fault(tmp_path: Path) -> None:
    (tmp_path / "runs").touch()
    (fault,) = run_faults(tmp_path / "runs")
    assert (fault.name, fault.problem) == ("runs", "it is a regular file, not a directory")
    assert (fault.place(tmp_path / "runs"), fault.path(tmp_path / "runs")) == ("runs", tmp_path / "runs")
    assert held_runs(tmp_path / "runs") == frozenset()


def test_a_directory_of_runs_that_is_a_link_to_nothing_is_one_fault(tmp_path: Path) -> None:
    (tmp_path / "runs").symlink_to("nowhere")
    (fault,) = run_faults(tmp_path / "runs")
    assert (fault.name, fault.problem) == ("runs", "it is a symbolic link, not a directory")


def test_what_the_daemon_renamed_is_a_fault_next_to_the_directory_of_runs(tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    os.mkfifo(tmp_path / "runs.unusable-1")
    (fault,) = run_faults(tmp_path / "runs")
    assert fault.problem == "it is a FIFO, not a directory; the daemon found it as `runs` and renamed it"
    assert (fault.place(tmp_path / "runs"), fault.is_run) == ("runs.unusable-1", False)


@pytest.mark.parametrize(
    ("text", "pid"),
    [
        (b"4711 12345\n", 4711),
        (b"", None),
        (b"barred\n", None),
        (b"0 1\n", None),
        (b"-5 1\n", None),
        (b"9" * 25, None),
        (b"\xff\xfe", None),
        ("٣ 1".encode(), None),
    ],
)
def test_a_lock_names_a_process_or_nobody(text: bytes, pid: int | None) -> None:
    assert parse_lock(text) == pid
