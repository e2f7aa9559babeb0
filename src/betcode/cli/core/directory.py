"""The working directory of a command."""

from pathlib import Path

from betcode.cli.core.exit_codes import CommandFailed, ExitCode
from betcode.cli.core.options import CommandOptions


def working_directory(options: CommandOptions) -> str:
    """Return the directory of --cwd, or the current one, as an absolute path without links.

    Raises:
        CommandFailed: the current directory is gone, or the path is not text.
    """
    if options.paths.remote is not None and Path(options.text("cwd")).is_absolute():
        return options.text("cwd")  # links on another machine cannot be resolved here
    try:
        path = str((Path.cwd() / Path(options.text("cwd")).expanduser()).resolve())
        path.encode()
    except FileNotFoundError as error:
        raise CommandFailed("The current directory no longer exists", ExitCode.INVALID_ARGUMENTS) from error
    except UnicodeEncodeError as error:
        raise CommandFailed("The path of the working directory is not UTF-8", ExitCode.INVALID_ARGUMENTS) from error
    return path
