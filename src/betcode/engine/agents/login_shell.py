"""The environment of the user's login shell, for sessions whose client sent none."""

import logging
import os
from collections.abc import Mapping
from subprocess import DEVNULL

import anyio

from betcode.proc import RunResult, run
from betcode.util.user import home_directory, login_shell

logger = logging.getLogger(__name__)

ASK_TIMEOUT_S = 10.0
_LIMIT_BYTES = 16 * 1024 * 1024  # more than a system passes to a program


class LoginShell:
    """Asks once and remembers; a shell that cannot be asked leaves the daemon's own environment."""

    def __init__(self) -> None:
        self._lock = anyio.Lock()
        self._environment: Mapping[str, str] | None = None

    async def environment(self) -> Mapping[str, str]:
        async with self._lock:
            if self._environment is None:
                self._environment = await _ask(dict(os.environ))
            return self._environment


async def _ask(own: dict[str, str]) -> Mapping[str, str]:
    own.setdefault("HOME", str(home_directory(own)))
    shell = login_shell()
    try:
        answer = await run(
            [shell, "-l", "-c", "env -0"],
            own,
            limit_s=ASK_TIMEOUT_S,
            output_limit_bytes=_LIMIT_BYTES,
            stderr=DEVNULL,
            keep_background=True,  # a profile may start agents of its own
        )
    except (OSError, ValueError):
        answer = RunResult(None)
    if answer.code != 0:
        logger.warning("the login shell %s did not print its environment; using the daemon's own", shell)
        return own
    return parse_environment(answer.out) or own


def parse_environment(answer: bytes) -> dict[str, str]:
    """What `env -0` prints, as a mapping; what is not NAME=value is left out."""
    pairs = (entry.decode("utf-8", "surrogateescape").partition("=") for entry in answer.split(b"\0") if entry)
    return {name: value for name, equals, value in pairs if name and equals and "\n" not in name}
