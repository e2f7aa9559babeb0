"""No process without a row, and no running row without a process."""

from pathlib import Path

from betcode.engine.maintenance.orphan_check import orphan_runs, violations
from support.daemon.runs import process_of


def test_nothing_contradicts_an_empty_directory(tmp_path: Path) -> None:
    assert violations([], tmp_path) == []


def test_a_running_row_without_a_process_is_named(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    assert violations(["one"], tmp_path) == ["run one is stored as running and has no process"]


def test_a_process_without_a_row_is_named(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    with process_of("one"):
        assert violations([], tmp_path) == ["run one has 1 processes and no running row"]
        assert orphan_runs(["one"], tmp_path) == {}
    assert violations([], tmp_path) == []


def test_the_runs_of_another_daemon_are_not_ours(tmp_path: Path) -> None:
    (tmp_path / "two").mkdir()
    with process_of("one"):
        assert violations([], tmp_path) == []
