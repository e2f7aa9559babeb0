"""Decide whether a command starts a missing daemon, as the setting daemon.autostart says."""

import os

from betcode.cli.core.exit_codes import CommandFailed, ExitCode
from betcode.cli.core.options import CommandOptions
from betcode.cli.terminal.console import standard_screen
from betcode.cli.terminal.keyboard import can_ask, confirm
from betcode.config.flags import flags_of
from betcode.config.load import WrongSetting, load_settings


def refuse_unwanted_start(options: CommandOptions, *, asked_for: bool) -> None:
    """Raises CommandFailed if the settings are invalid, or if they or the person forbid the start."""
    try:
        flags = flags_of(options.texts("set"))
        autostart = load_settings(options.paths.config_dir, os.environ, flags).settings.autostart
    except WrongSetting as wrong:
        raise CommandFailed(str(wrong), ExitCode.INVALID_ARGUMENTS) from wrong
    if asked_for:
        return
    if autostart == "never":
        reason = f"No daemon answers at {options.paths.socket}, and daemon.autostart is never"
    elif (
        autostart == "ask"
        and can_ask()
        and not confirm(standard_screen(), "No daemon is running. Start it? [Y/n] ", otherwise=True)
    ):
        reason = "No daemon is running"
    else:
        return
    raise CommandFailed(f"{reason}. Start it with: betcode daemon start", ExitCode.NO_CONNECTION)
