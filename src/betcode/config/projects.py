"""The effective settings for a session that starts in a project."""

import logging
from collections.abc import Set as AbstractSet
from dataclasses import replace
from pathlib import Path

from betcode.config.fields import with_value
from betcode.config.file_reader import FileRead, read_file
from betcode.config.load import combined, project_files, refuse_faults
from betcode.config.origins import Layer
from betcode.config.schema import SETTINGS
from betcode.config.settings import EngineSettings, Settings, WorktreeSettings

logger = logging.getLogger(__name__)


def in_project(
    engine: EngineSettings, directory: str, fixed: AbstractSet[str], user_file: Path | None = None
) -> EngineSettings:
    """Return the settings for a session in that directory; flags and variables (`fixed`) have priority. It may block.

    Raises:
        WrongSetting: a value that a project may set is not of its kind.
    """
    return _there(Settings(engine=engine), project_files(Path(directory)), fixed, user_file).engine


def worktrees_in_project(
    settings: Settings, directory: str, fixed: AbstractSet[str], user_file: Path | None = None
) -> WorktreeSettings:
    """Return the worktree settings of the repository at that directory; without one, the general ones. It may block.

    Raises:
        WrongSetting: a value that a project may set is not of its kind.
    """
    files = project_files(Path(directory)) if directory else []
    return _there(settings, files, fixed, user_file).worktree


def _there(settings: Settings, files: list[FileRead], fixed: AbstractSet[str], user_file: Path | None) -> Settings:
    """Return the settings with the values of a project's files.

    The user's file is read again for the values that a project could set, since the engine gets a change only a moment
    later. A file that cannot be read is ignored and logged; the rules handle what it may forbid.
    """
    for file in files:
        for problem in (*(fault.sentence for fault in file.faults), *file.warnings):
            logger.warning("in a project's settings: %s", problem)
    user = FileRead(Path(), Layer.USER) if user_file is None else read_file(user_file, Layer.USER)
    if user_file is not None and not combined([user]).faults:
        for setting in SETTINGS.values():
            if setting.of_project and setting.key not in fixed:
                settings = with_value(settings, setting.field, setting.default)
        files = [user, *files]
    loaded = combined([_of_project(file, fixed) for file in files], settings)
    refuse_faults(loaded.faults)
    return loaded.settings


def _of_project(file: FileRead, fixed: AbstractSet[str]) -> FileRead:
    given = (each for each in file.given if SETTINGS[each.key].of_project and each.key not in fixed)
    return replace(file, given=tuple(given), faults=())
