"""A uid without an entry in the passwd database, as containers have: sessions work as they do for anybody."""

import os
import pwd
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from betcode.client import NewConversation, open_client
from support.daemon.process import Daemon, agent_program
from support.daemon.session import Talk, settled_text
from support.plugins.requirements import absent

pytestmark = pytest.mark.anyio

UID = 54_321
# The interpreter may be in a home directory that only its owner can read: that one capability is kept.
_READS = "+dac_read_search"
_AS_UNKNOWN = (
    *("setpriv", f"--reuid={UID}", f"--regid={UID}", "--clear-groups"),
    *(f"--inh-caps={_READS}", f"--ambient-caps={_READS}"),
)


def _can_become_unknown() -> bool:
    if os.getuid() != 0 or shutil.which("setpriv") is None or UID in {each.pw_uid for each in pwd.getpwall()}:
        return False
    argv = [*_AS_UNKNOWN, "/bin/sh", "-c", f"{sys.executable} -c 'import betcode.daemon.run'"]
    return subprocess.run(argv, check=False, capture_output=True, env={}).returncode == 0


@pytest.fixture
def root() -> Iterator[Path]:
    """A directory that another user can reach, which those of pytest are not."""
    if not _can_become_unknown():
        absent("setpriv", "only root can become another user, who must be able to read this interpreter")
    with tempfile.TemporaryDirectory(prefix="betcode-uid-") as directory:
        Path(directory).chmod(0o755)
        yield Path(directory)


@pytest.mark.parametrize("home", ["", "given"])
async def test_a_session_without_an_environment_works_for_a_user_without_a_passwd_entry(root: Path, home: str) -> None:
    daemon = Daemon(root, claude_bin=agent_program(root))
    for directory, _, files in os.walk(root):
        for path in (directory, *(f"{directory}/{name}" for name in files)):
            os.chown(path, UID, UID)
    environment = {"PATH": daemon.environment["PATH"], **({"HOME": str(root / "home")} if home else {})}
    argv = ["env", "-i", *(f"{name}={value}" for name, value in environment.items()), *_AS_UNKNOWN, *daemon.argv]
    try:
        daemon.launch(argv=argv)
        await daemon.until_it_serves(0)
        async with open_client(daemon.paths) as client:
            new = NewConversation(str(daemon.work), provider="claude", environment={})
            talk = Talk(client, await client.start_session(new))
            assert settled_text(await talk.turn("env HOME")) == (environment.get("HOME") or "/")
    finally:
        daemon.end_everything()
