"""`betcode session compact`: have the agent summarize its context, and print the savings."""

from contextlib import aclosing

import anyio

from betcode.cli.core.connect import connected
from betcode.cli.core.exit_codes import CommandFailed, ExitCode, exit_of
from betcode.cli.core.options import CommandOptions
from betcode.cli.session.lookup import find_session, find_summary
from betcode.cli.terminal.console import Screen, standard_screen
from betcode.client import Client, ClientError
from betcode.v1 import agent_pb2 as v1
from betcode.wording.render import Describer


async def compact(options: CommandOptions) -> int:
    screen = standard_screen()
    async with connected(options, screen, doing="Compacting") as client:
        summary = await find_summary(client, await find_session(client, options.text("session")))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_show_progress, client, summary, screen)
            done = await _done(client, summary.id)
            tasks.cancel_scope.cancel()
    if options.as_json:
        counts = {field.name: getattr(done, field.name) for field in done.DESCRIPTOR.fields}
        screen.json({"session_id": summary.id, **counts})
    elif done.messages_before == done.messages_after and not done.tokens_saved:
        screen.line("Nothing to compact")
    else:
        saved = f", {done.tokens_saved:,} tokens fewer in the context" if done.tokens_saved else ""
        screen.line(f"Compacted: {done.messages_before:,} messages became {done.messages_after:,}{saved}")
    return ExitCode.OK


async def _done(client: Client, session_id: str) -> v1.CompactSessionResponse:
    """Compact the session. Raises CommandFailed, with the agent's reason if it gave one."""
    try:
        return await client.compact(session_id)
    except ClientError as error:
        reason = error.details.get("reason", "")
        if not reason or error.code == "":
            raise
        raise CommandFailed(f"{error.message}: {reason}", exit_of(error.code)) from error


async def _show_progress(client: Client, summary: v1.SessionSummary, screen: Screen) -> None:
    """Print the agent's messages meanwhile, such as retries of the model's API."""
    describer = Describer()
    begun = False
    async with aclosing(client.follow(summary.id, summary.last_sequence)) as events:
        async for event in events:
            match event.WhichOneof("event"):
                case "status_change" if event.status_change.status == v1.COMPACTING and not begun:
                    begun = True
                    screen.note("Compacting…")
                case "notice":
                    for line in describer.describe(event):
                        screen.note(line)
                case _:
                    pass
