"""`obey status` and `obey campaigns`: show the state of the daemon."""

from betcode.cli.obey.campaign_lookup import campaign_problems
from betcode.cli.obey.connect import connected, opened
from betcode.cli.obey.failure import ObeyExit
from betcode.cli.obey.names import PROVIDERS, STATUSES, name_of
from betcode.cli.obey.options import ObeyCommandOptions
from betcode.cli.obey.records import campaign_json, festival_json, summary_json, versioned
from betcode.cli.obey.session_lines import short_ids
from betcode.cli.terminal.console import Screen, standard_screen
from betcode.cli.terminal.table import table
from obey.local.v1 import local_pb2 as v1


async def status(options: ObeyCommandOptions) -> int:
    """Print the state of a running daemon; none is started for this."""
    screen = standard_screen(colour=options.colour)
    async with opened(options) as client:
        who, state = await client.ping(), await client.state()
    if options.as_json:
        facts = {
            "socket": str(options.socket.path),
            "version": who.version,
            "hostname": who.hostname,
            "hub_status": who.hub_status,
            "campaigns": [campaign_json(one) for one in state.campaigns],
            "festivals": [festival_json(one) for one in state.festivals],
            "active_sessions": [summary_json(one) for one in state.active_sessions],
        }
        screen.json(versioned("status", facts), indent=2)
        return ObeyExit.OK
    screen.line(f"betcode {who.version} on {who.hostname}, at {options.socket.path}")
    screen.line(f"Hub: {who.hub_status or 'none'}")
    _show(screen, "Campaigns", campaign_lines(state, screen.width))
    _show(screen, "Festivals", _festival_lines(state, screen.width))
    _show(screen, "Sessions", _session_lines(state, screen.width))
    return ObeyExit.OK


def _show(screen: Screen, heading: str, lines: list[str]) -> None:
    screen.line()
    screen.line(f"{heading}: none" if not lines else f"{heading}:")
    for line in lines:
        screen.line(line)


async def campaigns(options: ObeyCommandOptions) -> int:
    screen = standard_screen(colour=options.colour)
    async with connected(options, screen, doing="Listing") as client:
        state = await client.state()
    if options.as_json:
        found = [campaign_json(one) for one in state.campaigns]
        screen.json(versioned("campaign.list", {"campaigns": found}), indent=2)
        return ObeyExit.OK
    for line in campaign_lines(state, screen.width):
        screen.line(line)
    if not state.campaigns:
        screen.line("No campaigns are registered")
    for trouble in campaign_problems():
        screen.note(trouble)
    return ObeyExit.OK


def campaign_lines(state: v1.StateResponse, width: int) -> list[str]:
    """Return one line per campaign, no wider than the terminal."""
    rows = [[one.name, one.id, one.root] for one in state.campaigns]
    return table(("NAME", "ID", "ROOT"), rows, width, path="ROOT") if rows else []


def _festival_lines(state: v1.StateResponse, width: int) -> list[str]:
    rows = [
        [one.id, one.status, f"{one.tasks_completed} of {one.tasks_total}", one.campaign_id, one.name]
        for one in state.festivals
    ]
    return table(("ID", "STATUS", "TASKS", "CAMPAIGN", "NAME"), rows, width, spare=("CAMPAIGN",)) if rows else []


def _session_lines(state: v1.StateResponse, width: int) -> list[str]:
    shorts = short_ids([one.id for one in state.active_sessions])
    rows = [
        [
            shorts[one.id],
            name_of(one.status, STATUSES),
            name_of(one.provider, PROVIDERS),
            one.campaign_id,
            one.agent_name,
        ]
        for one in state.active_sessions
    ]
    return table(("ID", "STATUS", "PROVIDER", "CAMPAIGN", "NAME"), rows, width, spare=("CAMPAIGN",)) if rows else []
