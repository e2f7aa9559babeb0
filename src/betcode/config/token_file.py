"""The token of TCP clients: one line in a file that only its owner can read."""

import os
import secrets
import stat
from pathlib import Path

from betcode.util.atomic_files import create_file

NAME = "tcp.token"
_SHORTEST = 16
_LONGEST = 4096


class WrongToken(Exception):
    """The file cannot be used; the message is one sentence with the reason and the remedy."""


def make_token(path: Path) -> None:
    """Create the file with a new token, unless it exists; a concurrent caller gets the first one's token.

    Raises:
        WrongToken: it cannot be created.
    """
    if os.path.exists(path):  # noqa: PTH110 for an impossible name, reading it reports the error
        return
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        create_file(path, f"{secrets.token_urlsafe(32)}\n".encode())
    except OSError as error:
        raise WrongToken(f"{path} cannot be made: {error.strerror}") from None


def read_token(path: Path) -> str:
    """Raises WrongToken: it is not there, not private, or no token."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
    except OSError as error:
        raise WrongToken(f"{path} cannot be read: {error.strerror}") from None
    try:
        _refuse_wrong_file(path, os.fstat(descriptor))
        token = os.read(descriptor, _LONGEST + 1).decode("ascii", errors="replace").strip()
    except OSError as error:
        raise WrongToken(f"{path} cannot be read: {error.strerror}") from None
    finally:
        os.close(descriptor)
    if not _SHORTEST <= len(token) < _LONGEST or not all("!" <= letter <= "~" for letter in token):
        raise WrongToken(f"{path} contains no token: one line of at least {_SHORTEST} letters and digits is required")
    return token


def _refuse_wrong_file(path: Path, facts: os.stat_result) -> None:
    if not stat.S_ISREG(facts.st_mode):
        raise WrongToken(f"{path} is not a regular file: give the file that contains the token")
    if facts.st_uid not in (os.getuid(), 0):
        raise WrongToken(f"{path} belongs to another user: change its owner")
    if facts.st_mode & 0o077:
        raise WrongToken(f"{path} can be read by other users: run chmod 600 on it")
