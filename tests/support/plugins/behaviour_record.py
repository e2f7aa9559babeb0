"""Records which behaviours the tests showed, for `make behaviours`: one file each for `make test` and `make test-wide`.

Every test carries the ids of its markers in its report, so that the process that collects the reports of all workers
knows them. A run of some tests only does not change the records.
"""

import json
import time
from collections.abc import Iterable
from pathlib import Path

import pytest

PROPERTY = "behaviours"
PASSED, SKIPPED, FAILED = "passed", "skipped", "failed"
RECORDS = {"not wide": "behaviours.json", "wide": "behaviours-wide.json"}  # by the expression of -m
_OPTIONS_OF_PARTS = ("keyword", "ignore", "ignore_glob", "deselect", "lf", "stepwise", "collectonly")


class BehaviourRecord:
    """The outcome of each test that cites a behaviour."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._cited: dict[str, list[str]] = {}  # the ids that a test cites
        self._outcomes: dict[str, str] = {}

    def pytest_collection_modifyitems(self, items: Iterable[pytest.Item]) -> None:
        for item in items:
            ids = {str(each) for mark in item.iter_markers("behaviour") for each in mark.args}
            if ids:
                item.user_properties.append((PROPERTY, " ".join(sorted(ids))))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        ids = next((str(value).split() for name, value in report.user_properties if name == PROPERTY), [])
        if not ids:
            return
        self._cited[report.nodeid] = ids
        before = self._outcomes.get(report.nodeid)
        if report.failed or before == FAILED:
            self._outcomes[report.nodeid] = FAILED
        elif report.skipped or before == SKIPPED:
            self._outcomes[report.nodeid] = SKIPPED
        elif report.when == "call":
            self._outcomes[report.nodeid] = PASSED

    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        name = record_of(session.config)
        if name and exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
            self.write(self._directory / name)

    def write(self, path: Path) -> None:
        found: dict[str, dict[str, list[str]]] = {}
        for test, outcome in sorted(self._outcomes.items()):
            for each in self._cited[test]:
                found.setdefault(each, {}).setdefault(outcome, []).append(test)
        path.parent.mkdir(parents=True, exist_ok=True)
        written = {"ended": time.strftime("%Y-%m-%d %H:%M:%S"), "behaviours": found}
        path.write_text(json.dumps(written, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def record_of(config: pytest.Config) -> str:
    """The name of the record that a run replaces; empty for a run of a part, and for a worker of a run."""
    if hasattr(config, "workerinput") or config.option.maxfail:
        return ""
    named = config.args_source is not pytest.Config.ArgsSource.TESTPATHS
    if named or any(getattr(config.option, name, None) for name in _OPTIONS_OF_PARTS):
        return ""
    return RECORDS.get(config.option.markexpr, "")
