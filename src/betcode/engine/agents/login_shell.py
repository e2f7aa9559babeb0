"""The environment of the user's login shell, for sessions whose client sent none."""

import logging
import os
import subprocess
from collections.abc import Mapping
from functools import partial

import anyio
import anyio.to_thread

from betcode.util.user import home_directory, login_shell

logger = logging.getLogger(__name__)

ASK_TIMEOUT_S = 10.0


class LoginShell:
    """Asks once and remembers; a shell that cannot be asked leaves the daemon's own environment."""

    def __init__(self) -> None:
        self._lock = anyio.Lock()
        self._environment: Mapping[str, str] | None = None

    async def environment(self) -> Mapping[str, str]:
        async with self._lock:
            if self._environment is None:
                self._environment = await anyio.to_thread.run_sync(partial(_ask, dict(os.environ)))
            return self._environment


def _ask(own: dict[str, str]) -> Mapping[str, str]:
    own.setdefault("HOME", str(home_directory(own)))
    shell = login_shell()
    try:
        answer = subprocess.run(
            [shell, "-l", "-c", "env -0"],
            env=own,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=ASK_TIMEOUT_S,
            check=True,
            start_new_session=True,
        ).stdout
    except (OSError, subprocess.SubprocessError):
        logger.warning("the login shell %s did not tell its environment; the daemon's own is used", shell)
        return own
    return parse_environment(answer) or own


def parse_environment(answer: bytes) -> dict[str, str]:
    """What `env -0` prints, as a mapping; what is not NAME=value is left out."""
    pairs = (entry.decode("utf-8", "surrogateescape").partition("=") for entry in answer.split(b"\0") if entry)
    return {name: value for name, equals, value in pairs if name and equals and "\n" not in name}
