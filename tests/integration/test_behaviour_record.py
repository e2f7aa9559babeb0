"""A full run of pytest writes the record that `make behaviours` reads."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from behaviours import TESTS, last_run

SUITE = """
import pytest

@{mark}("a.passed")
def test_passes(): ...

@{mark}("a.passed", "a.skipped")
@pytest.mark.skip(reason="not here")
def test_is_skipped(): ...

@{mark}("a.skipped-inside")
def test_skips_itself():
    pytest.skip("not here")

@{mark}("a.failed")
def test_fails():
    assert False

def test_cites_nothing(): ...

@pytest.mark.wide
@{mark}("a.passed", "a.wide")
def test_is_wide(): ...
"""
PLUGIN = """
from pathlib import Path
from support.plugins.behaviour_record import BehaviourRecord

def pytest_configure(config):
    config.pluginmanager.register(BehaviourRecord(Path(__file__).parent))
"""


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["alone", "workers"])
def test_full_runs_write_their_records_and_a_run_of_a_part_does_not(tmp_path: Path, workers: tuple[str, ...]) -> None:
    (tmp_path / "tests").mkdir()
    mark = "pytest.mark.behaviour"
    (tmp_path / "tests" / "test_it.py").write_text(SUITE.format(mark=mark))
    (tmp_path / "tests" / "conftest.py").write_text(PLUGIN)
    markers = '[tool.pytest.ini_options]\ntestpaths = ["tests"]\nmarkers = ["behaviour(*ids): cited", "wide: wide"]\n'
    (tmp_path / "pyproject.toml").write_text(markers)

    def pytest_run(*arguments: str) -> None:
        plugins = ("-p", "no:cacheprovider", *(("-p", "xdist") if workers else ()))
        argv = [sys.executable, "-m", "pytest", "-q", *plugins, *workers, *arguments]
        environment = os.environ | {"PYTHONPATH": str(TESTS), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        subprocess.run(argv, cwd=tmp_path, env=environment, capture_output=True, check=False)

    usual, wide = tmp_path / "tests" / "behaviours.json", tmp_path / "tests" / "behaviours-wide.json"
    for part in () if workers else (("-m", "not wide", "-k", "passes"), ("-m", "wide", "tests/test_it.py"), ()):
        pytest_run(*part)
        assert not usual.exists(), part
        assert not wide.exists(), part
    pytest_run("-m", "not wide")
    here = "tests/test_it.py"
    shown = {
        "a.passed": {"passed": [f"{here}::test_passes"], "skipped": [f"{here}::test_is_skipped"]},
        "a.skipped": {"skipped": [f"{here}::test_is_skipped"]},
        "a.skipped-inside": {"skipped": [f"{here}::test_skips_itself"]},
        "a.failed": {"failed": [f"{here}::test_fails"]},
    }
    assert last_run({"make test": usual, "make test-wide": wide}).behaviours == shown
    pytest_run("-m", "wide")
    run = last_run({"make test": usual, "make test-wide": wide})
    assert list(run.ended) == ["make test", "make test-wide"]
    shown["a.passed"]["passed"].append(f"{here}::test_is_wide")
    assert run.behaviours == {**shown, "a.wide": {"passed": [f"{here}::test_is_wide"]}}
