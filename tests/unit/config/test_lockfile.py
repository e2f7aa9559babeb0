"""One process holds a state directory, and everyone can see which."""

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from betcode.config.lockfile import LockHeld, LockOwner, hold_lock, is_held, read_holder

ME = LockOwner(pid=os.getpid(), started="2026-01-01T00:00:00+00:00", socket="/tmp/s", version="0.1.0")

HOLD = """
import sys
from pathlib import Path
from betcode.config.lockfile import LockOwner, hold_lock
with hold_lock(Path(sys.argv[1]), LockOwner(1234, "then", "/s", "9")):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_lock_tells_who_holds_it(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    assert not is_held(path)
    with hold_lock(path, ME):
        assert is_held(path)
        assert read_holder(path) == ME
    assert not is_held(path)
    assert read_holder(path) is None


def test_where_no_lock_can_be_nobody_holds_it() -> None:
    assert not is_held(Path("/dev/null/state/daemon.lock"))


def test_a_second_holder_is_refused_and_told_who_the_first_is(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with hold_lock(path, ME), pytest.raises(LockHeld) as refused, hold_lock(path, ME):
        pass
    assert refused.value.holder == ME


def test_the_lock_falls_with_a_killed_process(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"held\n"
        assert read_holder(path) == LockOwner(1234, "then", "/s", "9")
        other.send_signal(signal.SIGKILL)
    assert not is_held(path)
    with hold_lock(path, ME):
        assert read_holder(path) == ME


def test_a_holder_that_has_not_said_its_name_is_nobody_in_particular(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with hold_lock(path, ME):
        path.write_text("{half")
        assert is_held(path)
        assert read_holder(path) is None


def test_a_lock_holds_though_its_owner_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "lock"
    path.write_text("what another daemon wrote")

    def no_room(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "pwrite", no_room)
    with hold_lock(path, ME):
        assert is_held(path)
        assert read_holder(path) is None
        assert path.read_bytes() == b"", "nobody is taken for the other daemon"
