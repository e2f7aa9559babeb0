"""The recorder of blocking calls sees those on an event loop, and no others."""

import os
import subprocess
import sys
from pathlib import Path

from support.daemon.loop_record import recorded_calls, recording_environment
from support.patience import PATIENCE_S

PROGRAM = """
import asyncio, os, pathlib, shutil, subprocess, sys

def calls(place):
    os.stat(place)
    os.statvfs(place)
    os.listdir(place)
    pathlib.Path(place, "new").write_text("1")
    os.rename(f"{place}/new", f"{place}/newer")
    os.remove(f"{place}/newer")
    os.mkdir(f"{place}/more")
    shutil.rmtree(f"{place}/more")
    subprocess.run(["true"], check=True)

async def main():
    await asyncio.to_thread(calls, sys.argv[1])
    calls(sys.argv[2])

calls(sys.argv[1])
asyncio.run(main())
"""


def test_calls_on_a_running_loop_are_recorded_with_their_stack_and_others_are_not(tmp_path: Path) -> None:
    record = tmp_path / "record"
    elsewhere, on_the_loop = tmp_path / "elsewhere", tmp_path / "on-the-loop"
    elsewhere.mkdir()
    on_the_loop.mkdir()
    argv = [sys.executable, "-c", PROGRAM, str(elsewhere), str(on_the_loop)]
    environment = {"PATH": os.environ["PATH"], **recording_environment(record)}
    subprocess.run(argv, env=environment, check=True, timeout=PATIENCE_S)
    calls = recorded_calls(record, {"imports": lambda call: call.is_below("<frozen importlib")})
    assert not [call for call in calls if str(elsewhere) in call.subject]
    events = {"os.stat", "os.statvfs", "os.listdir", "open", "os.rename", "os.remove", "os.mkdir", "os.rmdir"}
    assert events | {"shutil.rmtree", "subprocess.Popen"} <= {call.event for call in calls}
    assert all(call.is_below("<string>:") for call in calls if str(on_the_loop) in call.subject)
