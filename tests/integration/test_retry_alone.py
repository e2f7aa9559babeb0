"""CI repeats a few failed tests alone: those that fail again fail the run."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "retry_alone.py"
PASSES_AT_ITS_SECOND_RUN = """
from pathlib import Path
def test_unstable():
    seen = Path("seen")
    was_seen = seen.exists()
    seen.touch()
    assert was_seen
"""


def run(root: Path, tests: str) -> subprocess.CompletedProcess[str]:
    """Run these tests, which fail, and then repeat them."""
    (root / "pytest.ini").write_text("[pytest]\ncache_dir = .cache/pytest\n")
    (root / "test_it.py").write_text(tests)
    first = subprocess.run([sys.executable, "-m", "pytest", "-q"], cwd=root, capture_output=True, check=False)
    assert first.returncode == 1
    return subprocess.run([sys.executable, SCRIPT], cwd=root, capture_output=True, text=True, check=False)


def test_a_test_that_passes_alone_is_reported_as_unstable(tmp_path: Path) -> None:
    done = run(tmp_path, PASSES_AT_ITS_SECOND_RUN)
    assert done.returncode == 0
    assert "retry: unstable: test_it.py::test_unstable" in done.stdout


@pytest.mark.parametrize(
    "tests",
    [
        "def test_broken():\n    assert False\n",
        PASSES_AT_ITS_SECOND_RUN + "def test_broken():\n    assert False\n",
        "import pytest\n@pytest.mark.parametrize('n', range(6))\ndef test_broken(n):\n    assert False\n",
    ],
    ids=["always", "one-of-two", "too-many"],
)
def test_a_test_that_fails_again_or_too_many_failures_fail_the_run(tmp_path: Path, tests: str) -> None:
    assert run(tmp_path, tests).returncode == 1


def test_a_run_that_failed_without_a_failed_test_fails(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, SCRIPT], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
