"""The client identity of a command, so that people recognise their terminals."""

import getpass
import os
import re
import secrets
import socket

from betcode.cli.core.options import CommandOptions
from betcode.client import ClientIdentity

_WHO = 64  # characters
_COMMAND_ID = re.compile(r"^([A-Za-z0-9._-]+@[A-Za-z0-9._-]+)-[0-9a-f]{8}(?: \(pid \d+\))?$")


def own_identity(options: CommandOptions, client_type: str = "cli") -> ClientIdentity:
    """Return the identity of this command: user, machine, client type, and terminal or process."""
    verb = " ".join(filter(None, (options.text("command"), options.text("verb")))) or "betcode"
    host = socket.gethostname().partition(".")[0]
    who = f"{_user()}@{host}"
    return ClientIdentity(_own_id(who), client_type, client_name=f"{who} {verb}, {_terminal_or_process()}")


def _own_id(who: str) -> str:
    """Return a unique client id that names the user in the audit log and in answers."""
    return f"{re.sub(r'[^A-Za-z0-9._@-]', '_', who)[:_WHO]}-{secrets.token_hex(4)}"


def shown_client(client_id: str) -> str:
    """Return a client id for people: USER@HOST, without the process and the random suffix. Other ids are unchanged."""
    return _COMMAND_ID.sub(r"\1", client_id)


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # an account without a name, as in many containers
        return str(os.getuid())


def _terminal_or_process() -> str:
    try:
        return os.ttyname(0).removeprefix("/dev/")
    except OSError:
        return f"pid {os.getpid()}"
