"""The files of a session outside the database: they are removed when the session is deleted."""

import errno
import glob
import hashlib
import shutil
from collections.abc import Iterator
from pathlib import Path

from betcode.domain.sessions.deletion import DeletedSession

_ATTEMPTS = 5  # a journal may be compressed at the same moment, which makes a new file in a directory that goes


def remove(runs_dir: Path, deleted: DeletedSession) -> None:
    """Remove them all; what is gone already is no error. Blocks.

    Raises:
        OSError: one of them could not be removed; the others are.
    """
    failed: OSError | None = None
    for path in _files_of(runs_dir, deleted):
        try:
            _remove(path)
        except OSError as error:
            failed = error
    if failed is not None:
        raise failed


def _files_of(runs_dir: Path, deleted: DeletedSession) -> Iterator[Path]:
    state_dir, session_id = runs_dir.parent, deleted.session_id
    yield from (runs_dir / run_id for run_id in deleted.run_ids)
    # Each of our own agent programs has a directory with files that are named for sessions.
    yield from (state_dir / "agents").glob(f"*/{glob.escape(session_id)}.*")
    # What the screen on this machine keeps: an unsent draft and messages that were not acknowledged.
    yield state_dir / "screen" / "drafts" / session_id
    yield state_dir / "screen" / "outbox" / hashlib.sha256(session_id.encode()).hexdigest()[:32]


def _remove(path: Path) -> None:
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
        except FileNotFoundError:
            continue  # somebody else removes parts of it
        except OSError as error:
            if error.errno != errno.ENOTEMPTY or attempt == _ATTEMPTS:
                raise
        else:
            return
