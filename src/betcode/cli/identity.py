"""How a command calls itself, so that people know which of their screens it is."""

import getpass
import os
import socket

from betcode.cli.options import Options
from betcode.client import ClientIdentity


def own_identity(options: Options, client_type: str = "cli") -> ClientIdentity:
    """This command: whose it is, on which machine, what it does, and its terminal or else its process."""
    verb = " ".join(filter(None, (options.text("command"), options.text("verb")))) or "betcode"
    host = socket.gethostname().partition(".")[0]
    return ClientIdentity(client_type=client_type, client_name=f"{_user()}@{host} {verb}, {_place()}")


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # an account without a name, as in many containers
        return str(os.getuid())


def _place() -> str:
    try:
        return os.ttyname(0).removeprefix("/dev/")
    except OSError:
        return f"pid {os.getpid()}"
