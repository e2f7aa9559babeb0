"""`betcode daemon run` and `start`."""

import os

from betcode.cli.core.exit_codes import ExitCode
from betcode.cli.core.options import CommandOptions
from betcode.cli.core.remote_options import refuse_remote
from betcode.cli.daemon.control import daemon_argv, ensure_daemon, refuse_flags_of_services
from betcode.cli.terminal.console import standard_screen
from betcode.config.lockfile import read_holder
from betcode.util.start_signals import blocked_signals


def run(options: CommandOptions) -> int:
    """Run the daemon in the foreground, in this process."""
    refuse_remote(options.paths)
    from betcode.cli.config.import_offer import offer_import

    offer_import(options, hint=False)
    argv = daemon_argv(options)
    with blocked_signals():  # the daemon unblocks them; this block only ends if the daemon cannot start
        os.execv(argv[0], argv)  # noqa: S606 - no shell is wanted here


async def start(options: CommandOptions) -> int:
    """Start the daemon in the background and return once it serves; succeed also if it is already running."""
    refuse_remote(options.paths)
    refuse_flags_of_services(options)
    screen = standard_screen()
    was_started = await ensure_daemon(options, screen.note, announce=True, asked_for=True)
    holder = read_holder(options.paths.lock)
    pid = holder.pid if holder else 0
    if options.as_json:
        screen.json({"started": was_started, "pid": pid, "socket": str(options.paths.socket)})
    elif was_started:
        screen.line(f"The daemon is running at {options.paths.socket} (pid {pid})")
    else:
        screen.line(f"The daemon is already running at {options.paths.socket} (pid {pid})")
    return ExitCode.OK
