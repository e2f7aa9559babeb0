"""The benches still run, and say what they found; how quick anything is, is for people to judge."""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent


def test_benches_run_and_give_every_column() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "bench", "intake", "replay", "searching", "rules", "asking", "--quick", "--json"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    figures = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(figures) == 9
    for figure in figures:
        assert figure["measured"] > 0
        assert figure["baseline"] > 0
        assert {"name", "ratio", "target", "reached", "unit", "baseline_is"} <= figure.keys()


def test_an_unknown_bench_is_named() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "bench", "speed"], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 2
    assert "there is no speed" in done.stderr
