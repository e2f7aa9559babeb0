"""What a project's own settings say for the sessions that start in it."""

import logging
from collections.abc import Set as AbstractSet
from dataclasses import replace
from pathlib import Path

from betcode.config.loading import combined, project_files, refuse_faults
from betcode.config.settings import EngineSettings, Settings

logger = logging.getLogger(__name__)


def in_project(engine: EngineSettings, directory: str, fixed: AbstractSet[str]) -> EngineSettings:
    """The settings for a session in that directory; what flags and variables say (`fixed`) stays. It may block.

    A file that cannot be read says nothing, and the log has it: what it may forbid is looked after by the rules.

    Raises:
        WrongSetting: a value that a project may set is not of its kind.
    """
    files = project_files(Path(directory))
    for file in files:
        for problem in (*(fault.sentence for fault in file.faults), *file.warnings):
            logger.warning("in a project's settings: %s", problem)
    counting = [
        replace(file, faults=(), given=tuple(each for each in file.given if each.key not in fixed)) for file in files
    ]
    loaded = combined(counting, Settings(engine=engine))
    refuse_faults(loaded.faults)
    return loaded.settings.engine
