"""The command `obey` as a person or a script runs it, inside of a campaign that is registered."""

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from support.obey.campaigns import RegistryFile, make_campaign
from support.processes import preloaded
from support.processes.command import Shell, end_inside
from support.processes.command_server import Called, Calling, calling

PROGRAM = "betcode.cli.obey.main"


class ObeyShell(Shell):
    """Commands of obey; the working directory is a campaign's root. `call` runs them quickly, in one process."""

    call: Calling

    def __init__(self, root: Path, settings: Mapping[str, object] | None = None) -> None:
        super().__init__(root, settings=settings)
        self.campaign = make_campaign(self.work, name="ethdenver2026")
        RegistryFile(root / "home").add(self.campaign)
        self.socket = self.paths.state_dir / "obey.sock"

    def argv(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", PROGRAM, *arguments]

    def betcode(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        """The other command line, of the same daemon."""
        return preloaded.run([sys.executable, "-m", "betcode", *arguments], self.environment, self.work)

    def told(self, *arguments: str, code: int = 0) -> Called:
        """What a command prints, which ends with this code."""
        done = self.call(arguments)
        assert done.code == code, done.stderr
        return done

    def told_json(self, *arguments: str) -> Any:
        return json.loads(self.told(*arguments, "--json").stdout)

    def made(self, *arguments: str) -> str:
        """The id of a new session."""
        return self.told("session", "create", *arguments).stdout.partition("\n")[0].removeprefix("Session: ")


@contextmanager
def obey_shell(root: Path, settings: Mapping[str, object] | None = None) -> Iterator[ObeyShell]:
    """Leaving the block ends every process that commands left running."""
    here = ObeyShell(root, settings)
    try:
        with calling(here.environment, here.work, PROGRAM) as here.call:
            yield here
    finally:
        here.daemon.end_everything()
        end_inside(root)
