"""`betcode config mcp`: list the MCP servers of agents."""

from betcode.cli.core.connect import connected
from betcode.cli.core.exit_codes import ExitCode
from betcode.cli.core.options import CommandOptions
from betcode.cli.session.lookup import find_session
from betcode.cli.terminal.console import standard_screen
from betcode.cli.terminal.table import table
from betcode.v1.config_pb2 import McpServerStatus


async def mcp(options: CommandOptions) -> int:
    screen = standard_screen()
    async with connected(options, screen) as client:
        session = options.text("session")
        servers = await client.config.mcp_servers(session_id=await find_session(client, session) if session else "")
    rows = [
        (
            one.name,
            one.error_message or McpServerStatus.Name(one.status).removeprefix("MCP_SERVER_STATUS_").lower(),
            one.session_id,
            ", ".join(one.tools),
        )
        for one in servers
    ]
    if options.as_json:
        names = ("name", "status", "session_id")
        facts = [
            dict(zip(names, row, strict=False)) | {"tools": list(one.tools)}
            for row, one in zip(rows, servers, strict=True)
        ]
        screen.json({"servers": facts}, indent=2)
    elif not rows:
        screen.line("No agent has reported MCP servers. Agents report them in their first turn")
    else:
        for line in table(("NAME", "STATUS", "SESSION", "TOOLS"), rows, screen.width):
            screen.line(line)
    return ExitCode.OK
