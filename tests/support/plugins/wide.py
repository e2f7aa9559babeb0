"""Which tests belong to `make test-wide` and not to `make test`.

The marker `wide` decides. It is set by folder (FOLDERS: tests with programs from npm; FIRST_ONLY: all but the first
test of each file), by parameter (a provider whose program is from npm) and, for large matrices, by `representative`.
Each test runs in exactly one of the two.
"""

from collections.abc import Callable, Hashable, Iterable
from pathlib import Path
from typing import TypeVar

import pytest
from _pytest.mark.structures import ParameterSet

from support.paths import TESTS

FOLDERS = frozenset({"live/codex", "live/opencode"})
# The real claude CLI: the first test of a file shows its main promise, and the others show the variants.
FIRST_ONLY = frozenset({"live/claude"})
FROM_NPM = frozenset({"codex", "opencode"})  # the providers whose programs are

T = TypeVar("T")


def wide_by_folder(found: Iterable[tuple[Path, str]], tests: Path = TESTS) -> list[bool]:
    """Whether each test, given by its file and its function, is wide because of its folder."""
    first: dict[Path, str] = {}  # function of each file

    def is_wide(path: Path, function: str) -> bool:
        folder = path.parent.relative_to(tests).as_posix() if path.is_relative_to(tests) else ""
        return folder in FOLDERS or (folder in FIRST_ONLY and first.setdefault(path, function) != function)

    return [is_wide(*each) for each in found]


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
    found = [(item.path, getattr(item, "originalname", item.name)) for item in items]
    for item, is_wide in zip(items, wide_by_folder(found), strict=True):
        if is_wide:
            item.add_marker(pytest.mark.wide)
