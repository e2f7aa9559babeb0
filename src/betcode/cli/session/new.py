"""`betcode session new`: create a session without a message."""

from betcode.cli.core.connect import connected
from betcode.cli.core.exit_codes import ExitCode
from betcode.cli.core.options import CommandOptions
from betcode.cli.policy.project_trust import resolve_trust
from betcode.cli.session.lookup import find_summary
from betcode.cli.terminal.console import standard_screen
from betcode.cli.worktree.start_directory import started_session
from betcode.domain.events.event_json import summary_json
from betcode.wording.ids import short_id


async def new(options: CommandOptions) -> int:
    """Create the session and print only its id on stdout; its agent starts with the first message."""
    screen = standard_screen()
    async with connected(options, screen) as client:
        session_id = await started_session(client, options, screen)
        ignored = await resolve_trust(client, options, screen, session_id, is_new=True)
        if options.text("name"):
            await client.rename(session_id, options.text("name"))
        if options.as_json:
            summary = await find_summary(client, session_id)
            made = {"session_id": session_id, "session": summary_json(summary), "ignored_project_files": list(ignored)}
            screen.json(made, indent=2)
            return ExitCode.OK
    if ignored:
        screen.note(f"The project is not trusted: its agent will run without {', '.join(ignored)}")
    screen.line(session_id)
    screen.note(f"Continue with: betcode attach {short_id(session_id)}")
    return ExitCode.OK
