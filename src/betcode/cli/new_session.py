"""What a new session is made with, from the command line, the environment and the settings."""

import os
import shutil
from pathlib import Path

from betcode.cli.budgets import budget_from
from betcode.cli.exit_codes import CommandFailed, ExitCode
from betcode.cli.options import Options
from betcode.client import Client, NewConversation, session_environment
from betcode.config.loading import WrongSetting, load_settings
from betcode.config.settings import Settings


def new_conversation(options: Options) -> NewConversation:
    """The session that these options ask for.

    Raises:
        CommandFailed: the settings cannot be read, or there is no working directory.
    """
    return NewConversation(
        working_directory=working_directory(options),
        provider=options.text("provider"),
        model=options.text("model"),
        allowed_tools=options.texts("allowed_tools"),
        plan_mode=options.flag("plan"),
        # Another machine has paths and keys of its own.
        environment={}
        if options.places.remote is not None
        else session_environment(os.environ, _settings(options).environment_allow),
        budget=budget_from(options),
    )


async def default_agent(client: Client, options: Options) -> str:
    """The kind of agent that a new session from here gets: the daemon's choice, with our PATH before its own.

    Raises:
        CommandFailed: the settings cannot be read.
    """
    chosen = (await client.health()).metadata["default_provider"]
    is_free = not _settings(options).engine.default_provider
    return "claude" if chosen == "demo" and is_free and shutil.which("claude") else chosen


def _settings(options: Options) -> Settings:
    try:
        return load_settings(options.places.config_dir).settings
    except WrongSetting as error:
        raise CommandFailed(str(error), ExitCode.INVALID_ARGUMENTS) from error


def working_directory(options: Options) -> str:
    """The directory that was asked for, or the current one, as an absolute path without links.

    Raises:
        CommandFailed: the current directory is gone, or the path is not text.
    """
    if options.places.remote is not None and Path(options.text("cwd")).is_absolute():
        return options.text("cwd")  # another machine's links are not known here
    try:
        path = str((Path.cwd() / Path(options.text("cwd")).expanduser()).resolve())
        path.encode()
    except FileNotFoundError as error:
        raise CommandFailed("The current directory does not exist any more", ExitCode.INVALID_ARGUMENTS) from error
    except UnicodeEncodeError as error:
        raise CommandFailed("The working directory's name is not UTF-8", ExitCode.INVALID_ARGUMENTS) from error
    return path
