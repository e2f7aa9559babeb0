"""The home directory and the login shell of the user that this process runs as.

A container may run with a uid that has no entry in the passwd database, and without HOME: then there are defaults.
"""

import os
import pwd
from collections.abc import Mapping
from functools import cache
from pathlib import Path

_NO_HOME = "/"  # where shells start without a home directory
_NO_SHELL = "/bin/sh"


def home_directory(environ: Mapping[str, str]) -> Path:
    """HOME, else the passwd entry, else the root directory."""
    return Path(environ.get("HOME") or _passwd("pw_dir") or _NO_HOME)


def login_shell() -> str:
    """The shell of the passwd entry, else /bin/sh."""
    return _passwd("pw_shell") or _NO_SHELL


def _passwd(field: str) -> str:
    """A field of the user's passwd entry; empty where there is no entry."""
    entry = _entry(os.getuid())
    return "" if entry is None else str(getattr(entry, field))


@cache  # the database may be on a network
def _entry(uid: int) -> pwd.struct_passwd | None:
    try:
        return pwd.getpwuid(uid)
    except KeyError:
        return None
