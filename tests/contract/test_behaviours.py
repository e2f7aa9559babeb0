"""The list of behaviours and the tests agree."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from behaviours import (
    DONE,
    TESTS,
    Behaviour,
    Citation,
    Run,
    behaviours,
    citations,
    last_run,
    not_shown,
    reason_not_shown,
    report,
    unknown,
)

KNOWN = {
    "a.shown": Behaviour("a.shown", "It is shown.", "01"),
    "a.later": Behaviour("a.later", "It comes later.", "02"),
}


@pytest.fixture(scope="module")
def known() -> dict[str, Behaviour]:
    return behaviours()


@pytest.fixture(scope="module")
def cited() -> list[Citation]:
    """What all tests cite, read once: it takes seconds."""
    return citations()


def test_every_behaviour_of_the_finished_milestones_is_cited_by_a_test(
    known: dict[str, Behaviour], cited: list[Citation]
) -> None:
    assert [behaviour.id for behaviour in not_shown(known, cited)] == []


def test_no_test_cites_a_behaviour_that_does_not_exist(known: dict[str, Behaviour], cited: list[Citation]) -> None:
    assert unknown(known, cited) == []


def test_every_behaviour_belongs_to_a_milestone_and_only_windows_has_none_yet(known: dict[str, Behaviour]) -> None:
    assert {behaviour.issue for behaviour in known.values()} == DONE | {"11", "12", "13", "14", "later"}
    assert all("windows" in behaviour.id for behaviour in known.values() if behaviour.issue == "later")


def test_markers_are_found_wherever_they_stand(tmp_path: Path) -> None:
    tests = tmp_path / "tests"
    (tests / "deep").mkdir(parents=True)
    mark = "pytest.mark.behaviour"  # spelled apart, so that these ids are not taken for citations
    (tests / "deep" / "test_it.py").write_text(
        f"import pytest\n@{mark}('a.shown', 'a.later')\ndef test_it(): ...\n"
        f"ROWS = [pytest.param(1, marks={mark}('b.row'))]\npytestmark = [{mark}('b.module')]\n"
    )
    assert {(citation.id, citation.place) for citation in citations(tests)} == {
        ("a.shown", "tests/deep/test_it.py:2"),
        ("a.later", "tests/deep/test_it.py:2"),
        ("b.row", "tests/deep/test_it.py:4"),
        ("b.module", "tests/deep/test_it.py:5"),
    }


def test_a_finished_milestone_without_a_test_is_reported() -> None:
    assert not_shown(KNOWN, [], done=frozenset({"01"})) == [KNOWN["a.shown"]]
    assert not_shown(KNOWN, [Citation("a.shown", "here")], done=frozenset({"01"})) == []


def test_a_cited_stranger_is_reported() -> None:
    stranger = Citation("a.typo", "tests/test_it.py:1")
    assert unknown(KNOWN, [Citation("a.later", "here"), stranger]) == [stranger]


RUN = Run(
    {"make test": "2026-01-05 21:28:34"},
    {
        "a.passed": {"passed": ["t.py::one"], "skipped": ["t.py::two"]},
        "a.skipped": {"skipped": ["t.py::two"]},
        "a.failed": {"passed": ["t.py::one"], "failed": ["t.py::three"]},
    },
)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("a.passed", ""),
        ("a.skipped", "only skipped tests cite it: t.py::two"),
        ("a.failed", "a test that cites it failed: t.py::three"),
        ("a.new", "no test that cites it ran"),
    ],
)
def test_a_behaviour_is_shown_by_a_test_that_ran_and_passed(name: str, reason: str) -> None:
    behaviour = Behaviour(name, "Says something.", "01")
    assert reason_not_shown(behaviour, RUN) == reason
    lines, is_all_shown = report({name: behaviour}, [Citation(name, "here")], RUN)
    assert is_all_shown == (not reason)
    assert lines[:-1] == ([f"{reason}: {name}"] if reason else [])
    assert lines[-1].startswith(f"behaviours: {int(not reason)} of 1 were shown (milestones ")
    assert lines[-1].endswith("; `make test` of 2026-01-05 21:28:34, `make test-wide` of no record)")


def test_without_a_full_run_nothing_counts_and_the_way_to_make_one_is_named(tmp_path: Path) -> None:
    run = last_run({"make test": tmp_path / "behaviours.json"})
    assert run == Run({}, {})
    lines, is_all_shown = report(KNOWN, [Citation("a.shown", "here")], run)
    assert not is_all_shown
    assert "tests cite 1 of" in lines[-2]
    assert lines[-1].endswith("Make one: make test test-wide")


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
from support.behaviour_record import BehaviourRecord

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
        argv = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *workers, *arguments]
        environment = os.environ | {"PYTHONPATH": str(TESTS)}
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


def test_an_id_given_twice_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "behaviours.yaml"
    path.write_text("a:\n  - {id: a.b, says: One., issue: '01'}\n  - {id: a.b, says: Two., issue: '01'}\n")
    with pytest.raises(ValueError, match=r"a\.b twice"):
        behaviours(path)
