"""What the files say at this moment for a session that starts in a project."""

import logging
from collections.abc import Set as AbstractSet
from dataclasses import replace
from pathlib import Path

from betcode.config.loading import combined, project_files, refuse_faults, with_value
from betcode.config.origins import Layer
from betcode.config.reading import FileRead, read_file
from betcode.config.schema import SETTINGS
from betcode.config.settings import EngineSettings, Settings

logger = logging.getLogger(__name__)


def in_project(
    engine: EngineSettings, directory: str, fixed: AbstractSet[str], user_file: Path | None = None
) -> EngineSettings:
    """The settings for a session in that directory; what flags and variables say (`fixed`) stays. It may block.

    The user's file is read again for what a project could set, since the engine hears of a change only a moment later.
    A file that cannot be read says nothing, and the log has it: what it may forbid is looked after by the rules.

    Raises:
        WrongSetting: a value that a project may set is not of its kind.
    """
    settings = Settings(engine=engine)
    files = project_files(Path(directory))
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
    return loaded.settings.engine


def _of_project(file: FileRead, fixed: AbstractSet[str]) -> FileRead:
    given = (each for each in file.given if SETTINGS[each.key].of_project and each.key not in fixed)
    return replace(file, given=tuple(given), faults=())
