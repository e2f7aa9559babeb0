"""`obey session list`: list live sessions, or all."""

from datetime import UTC, datetime

from betcode.cli.obey.connect import connected
from betcode.cli.obey.failure import ObeyExit
from betcode.cli.obey.names import PROVIDERS, STATUSES
from betcode.cli.obey.options import ObeyCommandOptions
from betcode.cli.obey.records import session_json, versioned
from betcode.cli.obey.session_lines import list_lines
from betcode.cli.terminal.console import standard_screen
from obey.local.v1 import local_pb2 as v1

_OVER = frozenset({"stopped", "failed"})


async def list_sessions(options: ObeyCommandOptions) -> int:
    screen = standard_screen(colour=options.colour)
    statuses = options.texts("status")
    request = v1.ListSessionsRequest(
        campaign_id=options.text("campaign"),
        statuses=[v1.SessionStatus.ValueType(STATUSES[name]) for name in statuses],
        include_terminated=options.flag("all") or bool(_OVER.intersection(statuses)),
    )
    if options.text("provider"):
        request.provider = v1.SessionProvider.ValueType(PROVIDERS[options.text("provider")])
    async with connected(options, screen, doing="Listing") as client:
        sessions = await client.sessions(request)
    if options.as_json:
        found = [session_json(one) for one in sessions]
        screen.json(versioned("session.list", {"sessions": found}), indent=2)
        return ObeyExit.OK
    if not sessions:
        screen.line("No sessions" if request.include_terminated else "No live sessions; --all shows ended ones")
        return ObeyExit.OK
    for line in list_lines(sessions, datetime.now(UTC), screen.width):
        screen.line(line)
    return ObeyExit.OK
