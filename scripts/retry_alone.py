"""Run the tests that failed in the last run once more, one at a time.

Tests wait for real processes. On a busy machine one of twelve thousand may exceed its bound. CI therefore repeats a few
failed tests alone. A test that fails again fails the run. A test that passes is reported as unstable and must be fixed.
"""

import json
import subprocess
import sys
from pathlib import Path

MOST = 5  # failures; more of them are no accident
LAST_FAILED = Path(".cache/pytest/v/cache/lastfailed")


def last_failed(path: Path = LAST_FAILED) -> list[str]:
    """Return the ids of the tests that failed in the last run."""
    return sorted(json.loads(path.read_text())) if path.exists() else []


def main() -> int:
    failed = last_failed()
    if not failed:
        print("retry: the last run failed, and no test of it did", file=sys.stderr)
        return 1
    if len(failed) > MOST:
        print(f"retry: {len(failed)} tests failed; at most {MOST} are repeated", file=sys.stderr)
        return 1
    print(f"retry: repeating {len(failed)} failed tests one at a time", flush=True)
    done = subprocess.run([sys.executable, "-m", "pytest", "-p", "no:xdist", "-v", *failed], check=False)
    if done.returncode:
        return 1
    for test in failed:
        print(f"retry: unstable: {test}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
