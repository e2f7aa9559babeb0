"""The path of the daemon's log."""

import os
from pathlib import Path

from betcode.config.load import WrongSetting, load_settings
from betcode.config.paths import Paths


def log_path(paths: Paths) -> Path:
    """Return the path from the settings; the default path if they cannot be read."""
    try:
        return load_settings(paths.config_dir, os.environ).settings.logs.path(paths.daemon_log)
    except WrongSetting:
        return paths.daemon_log
