"""`--continue`: find the newest open session of a directory or worktree."""

from betcode.cli.core.directory import working_directory
from betcode.cli.core.exit_codes import CommandFailed, ExitCode
from betcode.cli.core.options import CommandOptions
from betcode.cli.session.lookup import OPEN
from betcode.cli.worktree.start_directory import active_elsewhere, named_worktree
from betcode.client import Client
from betcode.v1.worktree_pb2 import WORKTREE_STATE_READY


async def session_to_continue(client: Client, options: CommandOptions) -> str:
    """Return the id of the newest open session of the directory or worktree.

    Raises:
        CommandFailed: there is none.
    """
    place = None
    if options.has("worktree"):
        place = await named_worktree(client, options)
    elif not options.text("cwd"):
        active = await active_elsewhere(client, options)
        place = active if active is not None and active.state == WORKTREE_STATE_READY else None
    directory = "" if place is not None else working_directory(options)
    page = await client.list_sessions(
        working_directory=directory, worktree_id=place.id if place is not None else "", statuses=OPEN, limit=1
    )
    if not page.sessions:
        where = f"worktree {place.name}" if place is not None else directory
        raise CommandFailed(
            f"No open session of {where} to continue: omit --continue to start one",
            ExitCode.SESSION_NOT_FOUND,
        )
    return page.sessions[0].id
