"""Find a session by its id in either spelling, a unique prefix of it, or its name."""

from contextlib import aclosing

from betcode.cli.core.exit_codes import CommandFailed, ExitCode
from betcode.client import Client
from betcode.client.session_lookup import summary_of
from betcode.domain.values.identifiers import NotAnIdentifier, parse_session_id
from betcode.v1.agent_pb2 import SessionSummary

OPEN = ("new", "active", "idle")  # the statuses of sessions that accept messages


async def find_session(client: Client, text: str) -> str:
    """Return the id of the session.

    Raises:
        CommandFailed: no session matches, or several do.
    """
    try:
        return parse_session_id(text)
    except NotAnIdentifier:
        pass
    text_lower = text.lower()
    async with aclosing(client.all_sessions()) as sessions:
        found = [one.id async for one in sessions if one.id.startswith(text_lower) or one.name == text]
    if not text_lower or not found:
        raise CommandFailed(
            f"No session has the id prefix or name {text!r}. See: betcode session list", ExitCode.SESSION_NOT_FOUND
        )
    if len(found) > 1:
        few = ", ".join([*found[:3], "…"] if len(found) > 3 else found)
        raise CommandFailed(
            f"{len(found)} sessions match {text!r} ({few}): give more of the id",
            ExitCode.INVALID_ARGUMENTS,
        )
    return found[0]


async def find_summary(client: Client, session_id: str) -> SessionSummary:
    """Return the daemon's summary of a session.

    Raises:
        CommandFailed: there is no such session.
    """
    summary = await summary_of(client, session_id)
    if summary is not None:
        return summary
    raise CommandFailed("Session does not exist. See: betcode session list", ExitCode.SESSION_NOT_FOUND)
