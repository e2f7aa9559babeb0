"""`betcode session grants`: list and revoke what is allowed or refused for the rest of a session."""

from datetime import UTC, datetime

from betcode.cli.core.connect import connected
from betcode.cli.core.exit_codes import CommandFailed, ExitCode
from betcode.cli.core.options import CommandOptions
from betcode.cli.session.lookup import find_session
from betcode.cli.terminal.console import standard_screen
from betcode.cli.terminal.table import table
from betcode.client import Client
from betcode.domain.values.times import rfc3339_past
from betcode.v1 import agent_pb2 as v1
from betcode.wording.times import age

_LISTED = 10


async def grants(options: CommandOptions) -> int:
    screen = standard_screen()
    clear: str | None = options.chosen.clear
    async with connected(options, screen) as client:
        session_id = await find_session(client, options.text("session"))
        cleared = 0 if clear is None else await _clear(client, session_id, clear)
        remaining = await client.grants.list(session_id)
    if options.as_json:
        shown: dict[str, object] = {"session_id": session_id, "grants": [_json(one) for one in remaining]}
        screen.json(shown if clear is None else shown | {"cleared": cleared}, indent=2)
        return ExitCode.OK
    if clear is not None:
        screen.line(f"Cleared: {cleared}")
    if not remaining:
        screen.line("No grants in this session")
        return ExitCode.OK
    now = datetime.now(UTC)
    rows = [
        (
            "allowed" if one.granted else "refused",
            age(now - one.granted_at.ToDatetime(UTC)),
            one.granted_by,
            one.pattern,
        )
        for one in remaining
    ]
    for line in table(("STATE", "SINCE", "BY", "WHAT"), rows, screen.width, spare=("BY", "SINCE")):
        screen.line(line)
    return ExitCode.OK


async def _clear(client: Client, session_id: str, text: str) -> int:
    """Revoke all grants, those of a tool, or the one with that pattern.

    Raises:
        CommandFailed: no grant matches.
    """
    there = await client.grants.list(session_id)
    if not text or any(one.tool_name == text for one in there):
        return await client.grants.clear(session_id, text)
    if any(one.pattern == text for one in there):
        return await client.grants.clear(session_id, pattern=text)
    listed = "; ".join(one.pattern for one in there[:_LISTED]) + (" and more" if len(there) > _LISTED else "")
    raise CommandFailed(
        f"No grant matches {text!r} in this session: {listed or 'there are none'}",
        ExitCode.INVALID_ARGUMENTS,
    )


def _json(one: v1.SessionGrantEntry) -> dict[str, object]:
    return {
        "tool_name": one.tool_name,
        "pattern": one.pattern,
        "granted": one.granted,
        "granted_by": one.granted_by,
        "granted_at": rfc3339_past(one.granted_at.ToNanoseconds()),
        "request_id": one.request_id or None,
    }
