"""Records which behaviours the tests of a full run showed: .cache/behaviours.json, which `make behaviours` reads.

Every test carries the ids of its markers in its report, so that the process that collects the reports of all workers
knows them. A run of some tests only leaves the record of the last full run as it is.
"""

import json
import time
from collections.abc import Iterable
from pathlib import Path

import pytest

PROPERTY = "behaviours"
PASSED, SKIPPED, FAILED = "passed", "skipped", "failed"
_OPTIONS_OF_PARTS = ("keyword", "markexpr", "ignore", "ignore_glob", "deselect", "lf", "stepwise", "collectonly")


class BehaviourRecord:
    """The outcome of each test that cites a behaviour."""

    def __init__(self, path: Path) -> None:
        self._path = path
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
        if exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED) and is_full(session.config):
            self.write()

    def write(self) -> None:
        found: dict[str, dict[str, list[str]]] = {}
        for test, outcome in sorted(self._outcomes.items()):
            for each in self._cited[test]:
                found.setdefault(each, {}).setdefault(outcome, []).append(test)
        self._path.parent.mkdir(parents=True, exist_ok=True)
        written = {"ended": time.strftime("%Y-%m-%d %H:%M:%S"), "behaviours": found}
        self._path.write_text(json.dumps(written, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def is_full(config: pytest.Config) -> bool:
    """Whether a run had all tests: none was named, left out or chosen by an option, and no worker writes for itself."""
    if hasattr(config, "workerinput") or config.option.maxfail:
        return False
    named = config.args_source is not pytest.Config.ArgsSource.TESTPATHS
    return not named and not any(getattr(config.option, name, None) for name in _OPTIONS_OF_PARTS)
