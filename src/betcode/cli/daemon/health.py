"""`betcode daemon health`: a probe for service managers and containers."""

from betcode.cli.core.exit_codes import ExitCode
from betcode.cli.core.options import CommandOptions
from betcode.cli.terminal.console import standard_screen
from betcode.client import ClientError, open_client

_WITHIN_S = 5.0


async def probe(options: CommandOptions) -> int:
    """Return the overall status of the standard health service as an exit code."""
    is_well = await _is_well(options)
    screen = standard_screen()
    if options.as_json:
        screen.json({"serving": is_well})
    else:
        screen.line("SERVING" if is_well else "NOT_SERVING")
    return ExitCode.OK if is_well else ExitCode.NO_CONNECTION


async def _is_well(options: CommandOptions) -> bool:
    try:
        async with open_client(options.paths) as client:
            return await client.is_serving(timeout_s=_WITHIN_S)
    except ClientError:
        return False
