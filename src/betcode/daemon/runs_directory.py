"""Prepares the directory of runs at start, whatever has its name."""

import logging
import os
from pathlib import Path

from betcode.holder.run_check import faults_outside
from betcode.server import make_private_directory
from betcode.util.state_files import set_aside

logger = logging.getLogger(__name__)


def prepare_runs(runs: Path) -> None:
    """Make the directory private, and create it where it is missing. What cannot be used as a directory is renamed, not
    deleted: `daemon status` and `doctor` report it.

    Raises:
        OSError: the state directory cannot be written.
        SocketTaken: other users may replace the runs.
    """
    if runs.is_dir() and not _is_listable(runs) and runs.stat().st_uid == os.getuid():
        runs.chmod(0o700)
    fault = next((fault for fault in faults_outside(runs) if fault.name == runs.name), None)
    # A shortage, such as of descriptors, says nothing about a directory that may be listed.
    if fault is not None and (fault.can_be_set_aside or not _is_listable(runs)):
        logger.warning("`%s` cannot be used, and is now `%s`: %s", runs.name, set_aside(runs), fault.problem)
    make_private_directory(runs)


def _is_listable(directory: Path) -> bool:
    return os.access(directory, os.R_OK | os.X_OK)
