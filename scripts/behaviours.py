"""Compare docs/behaviours.yaml with the tests: what is not shown, and what does not exist.

A behaviour is shown when a test that cites it ran and passed in the last run of `make test` or `make test-wide`, whose
records are .cache/behaviours.json and .cache/behaviours-wide.json. The tests of the suite read the citations only, so
that they do not depend on an earlier run: literal ids inside a `behaviour(...)` marker.
"""

import ast
import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parent.parent
LIST = ROOT / "docs" / "behaviours.yaml"
TESTS = ROOT / "tests"
# Written by tests/support/plugins/behaviour_record.py.
RECORDS = {"make test": ROOT / ".cache" / "behaviours.json", "make test-wide": ROOT / ".cache" / "behaviours-wide.json"}

# The milestones whose behaviours must all be shown by a test; a milestone is entered here when it is finished.
DONE = frozenset({"01", "02", "03", "04", "05", "06", "07"})


@dataclass(frozen=True, slots=True)
class Behaviour:
    """One testable statement."""

    id: str
    says: str
    issue: str


@dataclass(frozen=True, slots=True)
class Citation:
    """A place where a test names a behaviour."""

    id: str
    place: str  # file:line


def behaviours(path: Path = LIST) -> dict[str, Behaviour]:
    """Every statement of the list by its id.

    Raises:
        ValueError: an id stands there twice.
    """
    found: dict[str, Behaviour] = {}
    for entries in yaml.safe_load(path.read_text(encoding="utf-8")).values():
        for entry in entries:
            if entry["id"] in found:
                raise ValueError(f"{path.name} has {entry['id']} twice")
            found[entry["id"]] = Behaviour(entry["id"], entry["says"], str(entry["issue"]))
    return found


def citations(tests: Path = TESTS) -> list[Citation]:
    """Every id that a marker in `tests` names."""
    return [citation for path in sorted(tests.rglob("*.py")) for citation in citations_in(path, tests)]


def citations_in(path: Path, tests: Path) -> Iterator[Citation]:
    """The ids of the markers in one file."""
    text = path.read_text(encoding="utf-8")
    if "behaviour" not in text:  # and so no marker either, which is sooner known than parsed
        return
    for node in ast.walk(ast.parse(text, filename=str(path))):
        if isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", "")) == "behaviour":
            for argument in node.args:
                if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                    yield Citation(argument.value, f"{path.relative_to(tests.parent)}:{argument.lineno}")


def not_shown(known: Mapping[str, Behaviour], cited: list[Citation], done: frozenset[str] = DONE) -> list[Behaviour]:
    """The behaviours of finished milestones that no test names."""
    named = {citation.id for citation in cited}
    return [behaviour for behaviour in known.values() if behaviour.issue in done and behaviour.id not in named]


def unknown(known: Mapping[str, Behaviour], cited: list[Citation]) -> list[Citation]:
    """The citations of ids that the list does not have."""
    return [citation for citation in cited if citation.id not in known]


@dataclass(frozen=True, slots=True)
class Run:
    """The last full runs: the tests that cite each behaviour, by their outcome (passed, skipped, failed)."""

    ended: Mapping[str, str]  # when, by the command that ran the tests
    behaviours: Mapping[str, Mapping[str, list[str]]]


def last_run(records: Mapping[str, Path] = RECORDS) -> Run:
    """The records of the last full runs, as one. A command without a record has no time in `ended`."""
    ended: dict[str, str] = {}
    found: dict[str, dict[str, list[str]]] = {}
    for command, path in records.items():
        if not path.exists():
            continue
        record = json.loads(path.read_text(encoding="utf-8"))
        ended[command] = record["ended"]
        for each, outcomes in record["behaviours"].items():
            for outcome, tests in outcomes.items():
                found.setdefault(each, {}).setdefault(outcome, []).extend(tests)
    return Run(ended, found)


def reason_not_shown(behaviour: Behaviour, run: Run) -> str:
    """Why the run did not show a behaviour; empty where it did."""
    outcomes = run.behaviours.get(behaviour.id, {})
    if failed := outcomes.get("failed"):
        return f"a test that cites it failed: {failed[0]}"
    if outcomes.get("passed"):
        return ""
    if skipped := outcomes.get("skipped"):
        return f"only skipped tests cite it: {skipped[0]}"
    return "no test that cites it ran"


def report(known: Mapping[str, Behaviour], cited: list[Citation], run: Run) -> tuple[list[str], bool]:
    """What to print, and whether every behaviour of the finished milestones is shown."""
    wanted = [behaviour for behaviour in known.values() if behaviour.issue in DONE]
    uncited = {behaviour.id for behaviour in not_shown(known, cited)}
    lines = [f"no test cites it: {each.id}: {each.says}" for each in wanted if each.id in uncited]
    strangers = unknown(known, cited)
    lines += [f"does not exist: {citation.id} ({citation.place})" for citation in strangers]
    milestones = f"milestones {', '.join(sorted(DONE))}"
    if not run.ended:
        lines.append(f"behaviours: tests cite {len(wanted) - len(uncited)} of {len(wanted)} ({milestones})")
        lines.append("There is no record of a full run, so none counts as shown. Make one: make test test-wide")
        return lines, False
    reasons = {each.id: reason_not_shown(each, run) for each in wanted if each.id not in uncited}
    lines += [f"{reason}: {known[each].id}" for each, reason in reasons.items() if reason]
    shown = sum(not reason for reason in reasons.values())
    ended = ", ".join(f"`{command}` of {run.ended.get(command, 'no record')}" for command in RECORDS)
    lines.append(f"behaviours: {shown} of {len(wanted)} were shown ({milestones}; {ended})")
    return lines, shown == len(wanted) and not strangers


if __name__ == "__main__":
    lines, is_all_shown = report(behaviours(), citations(), last_run())
    print("\n".join(lines))
    sys.exit(0 if is_all_shown else 1)
