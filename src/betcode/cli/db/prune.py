"""`betcode db prune`: list old closed sessions and delete them."""

import time

from betcode.cli.core.connect import connected
from betcode.cli.core.exit_codes import CommandFailed, ExitCode
from betcode.cli.core.options import CommandOptions
from betcode.cli.core.timestamps import moment_ns
from betcode.cli.terminal.console import Screen, standard_screen
from betcode.cli.terminal.keyboard import Keyboard, can_ask
from betcode.cli.terminal.progress import show_progress
from betcode.client import Client
from betcode.domain.sessions.status import SessionStatus
from betcode.domain.values.times import rfc3339
from betcode.v1 import agent_pb2 as v1
from betcode.wording.ids import short_id


async def prune(options: CommandOptions) -> int:
    """Delete the sessions that were listed. A session that was reopened meanwhile is not deleted."""
    screen = standard_screen()
    before_ns = moment_ns("--older-than", options.text("older_than"), time.time_ns())
    async with connected(options, screen) as client:
        old = await _closed_before(client, before_ns)
        deleted = 0
        if old and not options.flag("dry_run"):
            await _ask(options, screen, old)
            async with show_progress(screen, f"Deleting {len(old)}"):
                for session in old:
                    deleted += await client.delete(session.id)
        elif not options.as_json:
            _show(screen, old)
    if options.as_json:
        found = [session.id for session in old]
        screen.json({"found": found, "deleted": deleted, "dry_run": options.flag("dry_run")})
    elif deleted:
        screen.line(f"{deleted} session{'' if deleted == 1 else 's'} deleted")
    return ExitCode.OK


async def _closed_before(client: Client, before_ns: int) -> list[v1.SessionSummary]:
    return [
        session
        async for session in client.all_sessions()
        if session.status == SessionStatus.CLOSED and session.updated_at.ToNanoseconds() < before_ns
    ]


async def _ask(options: CommandOptions, screen: Screen, old: list[v1.SessionSummary]) -> None:
    """Ask for confirmation. Raises CommandFailed if there is no terminal to ask on, or if the person declines."""
    if options.flag("yes"):
        return
    _show(screen, old)
    if options.as_json or not can_ask():
        raise CommandFailed("Add --yes to delete them, or --dry-run to list them", ExitCode.INVALID_ARGUMENTS)
    keyboard = Keyboard()
    keyboard.discard_input()
    screen.ask(f"Delete {'this session' if len(old) == 1 else f'these {len(old)} sessions'} permanently? [y/N] ")
    answer = await keyboard.line()
    if answer is None or answer.strip().lower() not in ("y", "yes"):
        raise CommandFailed("Nothing was deleted", ExitCode.OK)


def _show(screen: Screen, old: list[v1.SessionSummary]) -> None:
    if not old:
        screen.line("No closed session is that old")
    for session in old:
        words = session.name or session.last_message_preview
        screen.line(f"{short_id(session.id)}  {rfc3339(session.updated_at.ToNanoseconds())}  {words}")
