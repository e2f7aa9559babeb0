"""`obey serve`, `stop` and `ping`: start, stop and probe the daemon."""

import os
import time

import anyio

from betcode.cli.obey.connect import daemon_options, opened, serves_no_obey
from betcode.cli.obey.failure import NO_DAEMON, ObeyExit, ObeyFailed
from betcode.cli.obey.options import ObeyCommandOptions
from betcode.cli.obey.records import versioned
from betcode.cli.terminal.console import standard_screen
from betcode.cli.terminal.progress import show_progress
from betcode.client import ClientError
from betcode.config.lockfile import is_held, read_holder

_PING_S = 5.0
_STOP_BOUND_S = 60.0
_PAUSE_S = 0.02


def serve(options: ObeyCommandOptions) -> int:
    """Run the daemon in the foreground in this process, or start it in the background and return once it serves."""
    settings = [f"daemon.log_level={options.text('log_level')}"] if options.text("log_level") else []
    if not options.socket.is_usual:
        settings.append(f"obey.socket={options.socket.path}")
    betcode_options = daemon_options(options, *settings)
    from betcode.cli.daemon.control import daemon_argv, refuse_flags_of_services

    if options.flag("foreground"):
        argv = daemon_argv(betcode_options)
        os.execv(argv[0], argv)  # noqa: S606 - no shell is wanted here
    refuse_flags_of_services(betcode_options)
    return anyio.run(_serve, options, settings)


async def _serve(options: ObeyCommandOptions, settings: list[str]) -> int:
    from betcode.cli.daemon.control import ensure_daemon

    screen = standard_screen(colour=options.colour)
    was_started = await ensure_daemon(daemon_options(options, *settings), screen.note, announce=False, asked_for=True)
    async with opened(options) as client:
        try:
            await client.ping(_PING_S)
        except ClientError as error:
            raise ObeyFailed(
                f"The daemon is running but serves no obey API at {options.socket.path}",
                "check obey.socket and obey.enabled with `betcode config show`, then: obey stop, obey serve",
            ) from error
    holder = read_holder(options.paths.lock)
    pid = holder.pid if holder else 0
    if options.as_json:
        facts = {"started": was_started, "pid": pid, "socket": str(options.socket.path)}
        screen.json(versioned("serve", facts))
    else:
        how = "serves" if was_started else "is already running"
        screen.line(f"The daemon {how} at {options.socket.path} (pid {pid})")
    return ObeyExit.OK


async def ping(options: ObeyCommandOptions) -> int:
    screen = standard_screen(colour=options.colour)
    began = time.monotonic()
    async with opened(options) as client:
        answer = await client.ping(_PING_S)
    took_ms = round((time.monotonic() - began) * 1000, 1)
    if options.as_json:
        facts = {
            "version": answer.version,
            "hostname": answer.hostname,
            "hub_status": answer.hub_status,
            "campaign_count": answer.campaign_count,
            "round_trip_ms": took_ms,
            "socket": str(options.socket.path),
        }
        screen.json(versioned("ping", facts))
    else:
        campaigns = "1 campaign" if answer.campaign_count == 1 else f"{answer.campaign_count} campaigns"
        screen.line(f"betcode {answer.version} on {answer.hostname} answers after {took_ms} ms: {campaigns}")
    return ObeyExit.OK


async def stop(options: ObeyCommandOptions) -> int:
    """Stop the daemon and wait until it has ended; succeed also if none runs."""
    screen = standard_screen(colour=options.colour)
    was_there = options.socket.path.exists()
    if not was_there and serves_no_obey(options):
        raise ObeyFailed(f"The daemon serves no obey API at {options.socket.path}", "betcode daemon stop ends it")
    if was_there:
        async with show_progress(screen, "Stopping"):
            was_there = await _shut_down(options)
    if options.as_json:
        screen.json(versioned("stop", {"stopped": was_there, "socket": str(options.socket.path)}))
    else:
        screen.line("The daemon has stopped; working agents continue" if was_there else "No daemon is running")
    return ObeyExit.OK


async def _shut_down(options: ObeyCommandOptions) -> bool:
    """Request the shutdown; return whether a daemon was running."""
    try:
        async with opened(options) as client:
            if not await client.shutdown():
                raise ObeyFailed("The daemon refused to stop", "betcode daemon stop sends it a signal")
    except ObeyFailed as failed:
        if failed.hint == NO_DAEMON:
            return False  # a dead daemon left this socket
        raise
    with anyio.move_on_after(_STOP_BOUND_S):
        # The daemon removes its socket first and releases its lock last. Only then can another daemon start.
        while options.socket.path.exists() or (options.socket.is_usual and is_held(options.paths.lock)):  # noqa: ASYNC110
            await anyio.sleep(_PAUSE_S)
        return True
    raise ObeyFailed(f"The daemon has not stopped within {_STOP_BOUND_S:.0f} s", "betcode daemon logs may say why")
