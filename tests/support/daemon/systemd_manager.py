"""A real systemd manager of a user, in a runtime directory of its own."""

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from support.daemon.notify_socket import service_words
from support.patience import PATIENCE_S
from support.plugins.requirements import absent

_PROGRAM = Path("/lib/systemd/systemd")


@contextmanager
def user_manager(home: Path) -> Iterator[dict[str, str]]:
    """What the environment of its user has; the test is skipped where no such manager can run."""
    if not shutil.which("systemctl") or not _PROGRAM.exists() or not Path("/run/systemd/system").is_dir():
        absent("systemd", "systemd does not run this machine")
    with tempfile.TemporaryDirectory(prefix="betcode-") as runtime, service_words() as words:
        environment = {"HOME": str(home), "XDG_RUNTIME_DIR": runtime, "PATH": os.environ["PATH"], "LANG": "C.UTF-8"}
        manager = subprocess.Popen(
            [_PROGRAM, "--user"],
            env=environment | {"NOTIFY_SOCKET": words.address},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        until = time.monotonic() + PATIENCE_S
        try:
            while not words.heard("READY=1", within_s=1.0):
                if manager.poll() is not None or time.monotonic() > until:
                    absent("systemd", "no manager of a user can run on this machine")
            yield environment
        finally:
            subprocess.run(["systemctl", "--user", "exit"], env=environment, capture_output=True, check=False)
            try:
                manager.wait(PATIENCE_S)
            except subprocess.TimeoutExpired:
                manager.kill()
                manager.wait()
