"""`obey session create`: create a session in a campaign and start its agent."""

from pathlib import Path

import anyio

from betcode.cli.obey.campaign_lookup import campaign_of
from betcode.cli.obey.connect import connected
from betcode.cli.obey.failure import ObeyExit, usage_error
from betcode.cli.obey.input_values import message_of, pairs_of
from betcode.cli.obey.names import PROVIDERS
from betcode.cli.obey.options import ObeyCommandOptions
from betcode.cli.obey.session_commands import show_session
from betcode.cli.terminal.console import standard_screen
from obey.local.v1 import local_pb2 as v1


def create(options: ObeyCommandOptions) -> int:
    request = _request(options)  # before the event loop: it may read stdin, and Ctrl-C must interrupt that
    return anyio.run(_create, options, request)


def _request(options: ObeyCommandOptions) -> v1.CreateSessionRequest:
    """Build the request and validate it, before a daemon is started for it."""
    request = v1.CreateSessionRequest(
        campaign_id=campaign_of(options),
        provider=v1.SessionProvider.ValueType(PROVIDERS[options.text("provider")]),
        model=options.text("model"),
        agent_name=options.text("name"),
        festival_id=options.text("festival"),
        task_id=options.text("task"),
        provider_config=pairs_of("--config", options.texts("config"), may_be_json=True),
        environment=pairs_of("--env", options.texts("env"), may_be_json=False),
        max_tokens=int(options.number("max_tokens")),
        initial_message=message_of(options) if options.has("message") else "",
        working_dir=_directory(options.text("workdir")),
    )
    if options.number("timeout"):
        request.timeout.FromNanoseconds(int(options.number("timeout") * 1e9))
    return request


def _directory(text: str) -> str:
    """Return the directory without links. The daemon checks that it is inside the campaign."""
    if not text:
        return ""
    path = Path(text).expanduser()
    if not path.is_dir():
        raise usage_error(f"--workdir {text} is not a directory", "give a directory inside the campaign's root")
    return str(path.resolve())


async def _create(options: ObeyCommandOptions, request: v1.CreateSessionRequest) -> int:
    screen = standard_screen(colour=options.colour)
    async with connected(options, screen, doing="Starting") as client:
        session = await client.create(request)
    show_session(options, screen, session)
    return ObeyExit.OK
