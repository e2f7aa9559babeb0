"""`betcode session budget`: show and change the limits of a session."""

from betcode.cli.core.connect import connected
from betcode.cli.core.exit_codes import ExitCode
from betcode.cli.core.options import CommandOptions
from betcode.cli.session.budget_arguments import budget_from
from betcode.cli.session.lookup import find_session, find_summary
from betcode.cli.terminal.console import standard_screen
from betcode.domain.events.event_json import budget_json, budget_use_json
from betcode.v1 import agent_pb2 as v1
from betcode.wording.budgets import budget_lines


async def budget(options: CommandOptions) -> int:
    screen = standard_screen()
    async with connected(options, screen) as client:
        session_id = await find_session(client, options.text("session"))
        summary = await find_summary(client, session_id)
        now, used = summary.budget, summary.budget_use
        new_budget = v1.Budget() if options.flag("none") else budget_from(options, now)
        if new_budget is not None:
            answer = await client.set_budget(session_id, new_budget)
            now, used = answer.budget, answer.budget_use
    if options.as_json:
        screen.json({"session_id": session_id, "budget": budget_json(now), "spent": budget_use_json(used)})
        return ExitCode.OK
    for line in budget_lines(now, used):
        screen.line(line)
    return ExitCode.OK
