"""Programs and rights that some tests need and not every machine has.

`BETCODE_REQUIRE=codex,zsh` lists those whose absence fails a test. A test that needs another one is skipped where it is
absent, with the reason.

@needs("claude", "" if CLAUDE else "no wheel for this platform has it")
def test_with_the_real_cli() -> None: ...
"""

import os
import shutil
from collections.abc import Set as AbstractSet
from typing import NoReturn

import pytest

VARIABLE = "BETCODE_REQUIRE"
KNOWN = frozenset(
    {
        "bash",
        "bubblewrap",
        "claude",
        "codex",
        "fish",
        "git",
        "mount",
        "openssl",
        "opencode",
        "setpriv",
        "systemd",
        "zsh",
    }
)
_PROGRAMS = {"bubblewrap": "bwrap"}  # where the program has another name than its package


def required(value: str) -> frozenset[str]:
    """The names in the value of BETCODE_REQUIRE.

    Raises:
        ValueError: a name is unknown, so that a typing error does not turn a failure into a skip.
    """
    names = frozenset(name for each in value.split(",") if (name := each.strip()))
    if strange := sorted(names - KNOWN):
        raise ValueError(f"{VARIABLE} has {', '.join(strange)}; known are {', '.join(sorted(KNOWN))}")
    return names


def is_failure(name: str, names: AbstractSet[str]) -> bool:
    """Whether a test fails, and is not skipped, where `name` is absent.

    Raises:
        ValueError: the name is unknown.
    """
    if name not in KNOWN:
        raise ValueError(f"{name} is missing in support.plugins.requirements.KNOWN")
    return name in names


def absent(name: str, reason: str) -> NoReturn:
    """Skip the running test, or fail it where BETCODE_REQUIRE has the name."""
    if is_failure(name, required(os.environ.get(VARIABLE, ""))):
        pytest.fail(f"{reason} ({VARIABLE} has {name})", pytrace=False)
    pytest.skip(reason)


def program(name: str) -> str:
    """The path of an installed program; the test is skipped or fails where it is absent."""
    found = shutil.which(_PROGRAMS.get(name, name))
    return found or absent(name, f"{name} is not installed")


def needs(name: str, absent_because: str) -> pytest.MarkDecorator:
    """Mark tests that need `name`; `absent_because` is empty where it is present."""
    return pytest.mark.needs(name, absent_because)


def pytest_configure() -> None:
    try:
        required(os.environ.get(VARIABLE, ""))
    except ValueError as error:
        raise pytest.UsageError(str(error)) from None


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Before any fixture: none of them is made for a test that does not run."""
    for mark in item.iter_markers("needs"):
        name, absent_because = mark.args
        if absent_because:
            absent(name, absent_because)
