"""The runs of a session, for commands that read their journals."""

from pathlib import Path

import apsw

from betcode.storage.sqlite.database import connect_to_look, unusable

_RUNS = """
SELECT r.run_id FROM runs r JOIN sessions s ON s.key = r.session
WHERE s.session_id = ? AND s.deleted = 0 ORDER BY r.key
"""


def runs_of_session(path: Path, session_id: str) -> list[str]:
    """The ids of the runs of a session, the oldest first.

    Raises:
        DatabaseUnusable: the database cannot be read.
    """
    try:
        db = connect_to_look(path)
        try:
            return [str(run_id) for (run_id,) in db.execute(_RUNS, (session_id,))]
        finally:
            db.close()
    except (apsw.Error, OSError) as error:
        raise unusable(path, error) from error
