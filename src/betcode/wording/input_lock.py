"""Names of the input lock's holder."""

from betcode.client import ClientError
from betcode.domain.error_codes import ErrorCode

_TERMINALS = ("pts/", "tty")


def is_locked(error: ClientError) -> bool:
    """Whether a message was refused because another client holds the lock."""
    return error.code == ErrorCode.NO_INPUT_LOCK


def person_of(client_id: str) -> str:
    """Return the user and machine in an id of the command line: `kim@desk` for `kim@desk-1f2e3d4c`."""
    who = client_id.rpartition("-")[0]
    return who if "@" in who else ""


def called(client_id: str, client_type: str, client_name: str, own_id: str = "") -> str:
    """Return the name of a client for people, or else its id; for another client of theirs, its terminal."""
    place = client_name.rpartition(", ")[2]
    if place.startswith(_TERMINALS) and person_of(client_id) and person_of(client_id) == person_of(own_id):
        return f"your terminal {place}"
    return f"{client_type} {client_name or client_id}".strip()


def holder_in(error: ClientError, own_id: str = "") -> str:
    """Return the holder of the lock from a refusal."""
    facts = ("holder_client_id", "holder_client_type", "holder_client_name")
    client_id, client_type, client_name = (error.details.get(fact, "") for fact in facts)
    return called(client_id, client_type, client_name, own_id)
