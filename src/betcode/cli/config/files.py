"""Choose the settings file, and check who may change it."""

from pathlib import Path

from betcode.cli.core.directory import working_directory
from betcode.cli.core.exit_codes import CommandFailed, ExitCode
from betcode.cli.core.options import CommandOptions
from betcode.config.load import FILE_NAME
from betcode.config.lockfile import is_held
from betcode.config.origins import OF_PROJECTS, Layer
from betcode.config.paths import Paths
from betcode.holder.launch import runs_inside


def chosen_file(options: CommandOptions) -> tuple[Path, Layer]:
    """Return the file that --user, --project or --local selects."""
    layer = next((each for each in OF_PROJECTS if options.flag(each.value)), Layer.USER)
    return file_of(options, layer), layer


def file_of(options: CommandOptions, layer: Layer) -> Path:
    if layer in OF_PROJECTS:
        return Path(working_directory(options)) / OF_PROJECTS[layer]
    return options.paths.config_dir / FILE_NAME


def refuse_inside(paths: Paths, why: str = "agents may not change settings") -> None:
    """Refuse commands of agents that do not go through the daemon. This only hinders; the daemon checks by itself.

    Raises:
        CommandFailed: this process belongs to an agent.
    """
    if runs_inside(paths.runs):
        raise CommandFailed(
            f"This command was started by an agent of this daemon, and {why}: run it in your own terminal",
            ExitCode.PERMISSION_DENIED,
        )


def daemon_runs(paths: Paths) -> bool:
    return is_held(paths.lock)
