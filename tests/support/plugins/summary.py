"""The last words of a test run: which tests failed, and why, in few lines, after everything else."""

import re
from collections.abc import Generator

import pytest
from _pytest.terminal import TerminalReporter

LINES = 50  # about what is left of the output where only its end is kept
_LINES_EACH = 8
_COLUMNS = 300
_FRAME = "|+- \t"  # what tracebacks of exception groups are drawn with
_PLACE = re.compile(r"^(\S+\.py:\d+): in ")
_OTHERS = ("site-packages", "/lib/python")

Report = pytest.TestReport | pytest.CollectReport


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(terminalreporter: TerminalReporter) -> Generator[None]:
    """Say it when all others have spoken."""
    yield
    found = [report for outcome in ("error", "failed") for report in terminalreporter.getreports(outcome)]
    failed = [report for report in found if isinstance(report, Report)]
    if failed:
        terminalreporter.write_sep("=", f"{len(failed)} failed, and why")
    for line in in_short(failed):
        terminalreporter.write_line(line)


def in_short(failed: list[Report]) -> list[str]:
    """A line for each test, and below it as much of the reason as there is room for."""
    each = min(_LINES_EACH, LINES // max(1, len(failed)) - 1)
    lines: list[str] = []
    for report in failed:
        when = f" ({report.when})" if report.when in ("setup", "teardown") else ""
        why = reason(report.longreprtext)
        if each < 1:
            lines.append(f"{report.nodeid}{when}: {why[0]}"[:_COLUMNS])
        else:
            lines += [f"{report.nodeid}{when}", *(f"    {line}"[:_COLUMNS] for line in why[:each])]
    return lines


def reason(traceback: str) -> list[str]:
    """The error itself and, after it, where: in the test and, if deeper, in our own code; of a group the last in it."""
    lines = traceback.splitlines()
    errors = [line[1:].strip() for line in lines if line.startswith("E ")]
    if not errors or errors[0].startswith(("+", "|")):  # told in Python's own way
        plain = [line.removeprefix("E").strip(_FRAME) for line in lines]
        files = [number for number, line in enumerate(plain) if line.startswith('File "')]
        errors = plain[files[-1] :] if files else plain
    places = [place[1] for line in lines if (place := _PLACE.match(line)) and not any(o in place[1] for o in _OTHERS)]
    told = [line for line in errors if line][: _LINES_EACH - 1]
    where = dict.fromkeys([*places[:1], *places[-1:]])
    return [*told, *([f"at {', '.join(where)}"] if where else [])] or ["it does not say"]
