"""Which tests belong to `make test-wide` and not to `make test`.

The marker `wide` decides. It is set by folder (FOLDERS: tests with programs from npm), by parameter (a provider whose
program is from npm) and, for large matrices, by `representative`. Each test runs in exactly one of the two.
"""

from collections.abc import Callable, Hashable, Iterable
from pathlib import Path
from typing import TypeVar

import pytest
from _pytest.mark.structures import ParameterSet

FOLDERS = frozenset({"real"})
FROM_NPM = frozenset({"codex", "opencode"})  # the providers whose programs are
_TESTS = Path(__file__).parents[1]

T = TypeVar("T")


def is_wide_folder(path: Path, tests: Path = _TESTS) -> bool:
    """Whether all tests of this file are wide."""
    return path.is_relative_to(tests) and path.relative_to(tests).parts[0] in FOLDERS


def representative(
    cases: Iterable[T], group: Callable[[T], Hashable], name: Callable[[T], str] = str
) -> list[ParameterSet]:
    """All cases as parameters: the first of each group runs in `make test`, the others in `make test-wide`.

    A group is a promise or a branch of the code that its cases share.
    """
    seen: set[Hashable] = set()

    def is_repeated(case: T) -> bool:
        before = len(seen)
        seen.add(group(case))
        return len(seen) == before

    return wide_where(cases, is_repeated, name)


def wide_where(cases: Iterable[T], is_wide: Callable[[T], bool], name: Callable[[T], str] = str) -> list[ParameterSet]:
    """All cases as parameters, with the marker on those that are wide."""
    return [pytest.param(case, marks=[pytest.mark.wide] if is_wide(case) else [], id=name(case)) for case in cases]


@pytest.hookimpl(tryfirst=True)  # before the option -m deselects
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if is_wide_folder(item.path):
            item.add_marker(pytest.mark.wide)
