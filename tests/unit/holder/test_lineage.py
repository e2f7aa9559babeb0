"""Who a process is in words, and attempts that are counted instead of written down."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from betcode.holder.lineage import Restraint, lineage


class Clock:
    now = 50.0

    def __call__(self) -> float:
        return self.now


def test_a_process_is_named_with_its_program_and_its_parents() -> None:
    program = os.path.realpath(sys.executable).rpartition("/")[2]
    assert lineage(os.getpid()) == f"pid {os.getpid()} ({program})"
    with subprocess.Popen(["sleep", "60"]) as child:
        try:
            words = lineage(child.pid, ancestors=True)
        finally:
            child.kill()
    assert words.startswith(f"pid {child.pid} (")
    assert f" < {os.getpid()} ({program})" in words


def test_a_process_that_is_gone_is_named_by_its_number() -> None:
    with subprocess.Popen(["true"]) as child:
        pass
    assert lineage(child.pid, ancestors=True) == f"pid {child.pid} ()"


def test_a_name_that_is_no_plain_word_is_made_one(tmp_path: Path) -> None:
    odd = tmp_path / "a) < 1 (init\n"
    shutil.copy("/bin/sleep", odd)
    with subprocess.Popen([odd, "60"]) as child:
        try:
            words = lineage(child.pid)
        finally:
            child.kill()
    assert "\n" not in words
    assert " < " not in words


def test_a_few_pass_at_once_and_the_rest_is_counted() -> None:
    clock = Clock()
    restraint = Restraint(clock)
    assert [restraint.passes() for _ in range(13)] == [0] * 10 + [None] * 3
    clock.now += 10
    assert restraint.passes() == 3
    assert restraint.passes() is None
    clock.now += 1000
    assert [restraint.passes() for _ in range(11)] == [1] + [0] * 9 + [None]
