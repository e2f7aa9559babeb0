"""Compare docs/behaviours.yaml with the tests: what is not shown yet, and what does not exist.

The tests are read, not run, so that the answer does not depend on which of them ran. Only literal ids inside a
`behaviour(...)` marker count.
"""

import ast
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parent.parent
LIST = ROOT / "docs" / "behaviours.yaml"
TESTS = ROOT / "tests"

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


if __name__ == "__main__":
    known, cited = behaviours(), citations()
    missing, strangers = not_shown(known, cited), unknown(known, cited)
    for behaviour in missing:
        print(f"no test shows   {behaviour.id}: {behaviour.says}")
    for citation in strangers:
        print(f"does not exist  {citation.id} ({citation.place})")
    wanted = sum(behaviour.issue in DONE for behaviour in known.values())
    print(f"behaviours: {wanted - len(missing)} of {wanted} are shown by tests (milestones {', '.join(sorted(DONE))})")
    sys.exit(1 if missing or strangers else 0)
