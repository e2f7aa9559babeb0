"""Detect the first run with settings of Claude Code that can be imported."""

import os
from collections.abc import Mapping
from pathlib import Path

from betcode.config.load import FILE_NAME
from betcode.util.user import home_directory

RULES_DIRECTORY = "rules"


def claude_directory(environ: Mapping[str, str]) -> Path:
    """The directory in which Claude Code keeps its settings."""
    named = environ.get("CLAUDE_CONFIG_DIR")
    return Path(named) if named else home_directory(environ) / ".claude"


def has_importable_settings(source: Path) -> bool:
    return os.path.lexists(source / FILE_NAME) or os.path.lexists(source / RULES_DIRECTORY)


def importable_settings(environ: Mapping[str, str], config_dir: Path) -> Path | None:
    """Return the directory of Claude Code's settings if we have no config directory yet; None otherwise."""
    if os.path.lexists(config_dir):
        return None
    source = claude_directory(environ)
    return source if has_importable_settings(source) else None
