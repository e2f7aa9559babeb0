"""The end of a run's output says which tests failed and why."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import support
from support.patience import PATIENCE_S
from support.plugins.summary import LINES, in_short

HERE = str(Path(next(iter(support.__path__))).parent)

FAILING = """
import anyio
import pytest

def number():
    assert 41 == 42, "the answer"

def test_a_number():
    number()

@pytest.mark.anyio
async def test_a_group(anyio_backend_name):
    async def fail():
        assert "inner" == "reason"
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(fail)

@pytest.fixture
def broken():
    raise RuntimeError("no such thing")

def test_a_fixture(broken):
    pass
"""


def test_which_tests_failed_and_why_comes_last(tmp_path: Path) -> None:
    (tmp_path / "test_them.py").write_text(FAILING)
    argv = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "anyio",
        "-p",
        "support.plugins.summary",
        "--tb=short",
        "test_them.py",
    ]
    environment = os.environ | {"PYTHONPATH": HERE, "PYTEST_DEBUG_TEMPROOT": str(tmp_path)}
    environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    done = subprocess.run(argv, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=PATIENCE_S)
    said = "\n".join(done.stdout.splitlines()[-LINES:]).partition("failed, and why")[2]
    for words in (
        "test_a_number\n    AssertionError: the answer\n    assert 41 == 42\n    at test_them.py:9, test_them.py:6\n",
        "test_a_group[asyncio]\n",
        "AssertionError: assert 'inner' == 'reason'",
        "test_a_fixture (setup)\n    RuntimeError: no such thing\n",
    ):
        assert words in said


def failed(number: int, why: str) -> pytest.TestReport:
    return pytest.TestReport(f"test_them.py::test_{number}", ("test_them.py", 1, "test"), {}, "failed", why, "call")


@pytest.mark.parametrize("count", [1, 2, 7, 25, 40])
def test_the_more_fail_the_less_is_said_of_each(count: int) -> None:
    said = in_short([failed(number, f"E   reason {number}\n" + "E   and more\n" * 100) for number in range(count)])
    assert len(said) <= LINES
    for number in range(count):
        assert f"test_them.py::test_{number}" in "\n".join(said)
        assert f"reason {number}" in "\n".join(said)
