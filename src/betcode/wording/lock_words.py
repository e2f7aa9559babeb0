"""Who types, as people are told of it."""

from betcode.client import ClientError
from betcode.domain.error_codes import ErrorCode


def is_locked(error: ClientError) -> bool:
    """Whether a message was refused because another client types."""
    return error.code == ErrorCode.NO_INPUT_LOCK


def called(client_id: str, client_type: str, client_name: str) -> str:
    """A client as a person is told of it: by its name, or else by its id."""
    return f"{client_type} {client_name or client_id}".strip()


def holder_in(error: ClientError) -> str:
    """Who holds the lock, as the refusal says."""
    facts = ("holder_client_id", "holder_client_type", "holder_client_name")
    return called(*(error.details.get(fact, "") for fact in facts))
