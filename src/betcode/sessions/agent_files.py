"""What our own agent programs keep of a session beside its journals: it goes when the session is deleted."""

import glob
import logging
from pathlib import Path

from betcode.domain.identifiers import SessionId

logger = logging.getLogger(__name__)


def remove(runs_dir: Path, session_id: SessionId) -> None:
    """Each kind of agent has a directory beside that of the runs, and files there that are named for sessions."""
    for path in (runs_dir.parent / "agents").glob(f"*/{glob.escape(session_id)}.*"):
        try:
            path.unlink(missing_ok=True)
        except OSError as trouble:
            logger.warning("what an agent kept of a deleted session is still there: %s", trouble)
